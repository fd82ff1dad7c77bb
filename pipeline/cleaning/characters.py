"""Characters: one Unicode form, and UTF-8 that somebody read as Windows-1252 put right."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

_FORMS: dict[str, Literal["NFC", "NFKC"]] = {"nfc": "NFC", "nfkc": "NFKC"}
_WINDOWS = {
    character: bytes([number])
    for number in range(0x80, 0x100)
    for character in [bytes([number]).decode("cp1252", "replace")]
    if character != "\ufffd"
}
"""What Windows-1252 shows of the upper 128 bytes; where it has nothing, programs show C1."""
_WINDOWS |= {chr(number): bytes([number]) for number in (0x81, 0x8D, 0x8F, 0x90, 0x9D)}
_FOLLOWING = re.escape("".join(c for c, byte in _WINDOWS.items() if byte < b"\xc0"))
_MISREAD = re.compile(f"[ÂÃ][{_FOLLOWING}]|â[{_FOLLOWING}]{{2}}|ð[{_FOLLOWING}]{{3}}")
"""Letters of Western languages, punctuation and emoji in UTF-8 as Windows-1252 shows them. Of the
other first bytes a capital and a mark are also found in good text, such as ``É»``."""


def normalised(text: str, form: Literal["nfc", "nfkc"]) -> str:
    """Returns a text in a Unicode form."""
    return text if text.isascii() else unicodedata.normalize(_FORMS[form], text)


def without_mojibake(text: str) -> str:
    """Returns a text in which what UTF-8 looks like in Windows-1252 is UTF-8 again."""
    return text if text.isascii() else _MISREAD.sub(_reread, text)


def _reread(found: re.Match[str]) -> str:
    shown = found[0]
    try:
        return b"".join(_WINDOWS[character] for character in shown).decode("utf-8")
    except UnicodeDecodeError:
        return shown
