"""Text that others wrote: as it is taken in, and as it may be shown.

Shown, it has no control character, no markup, no secret.

File names, addresses, labels of parsers, scores of cards and sentences come from anywhere. What
puts one on a terminal, in a log, an error or a Markdown page passes it through here.
"""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

HIDDEN = "***"
"""Stands where a secret stood."""

# Control characters, marks and embeddings of direction, line and paragraph separators, invisible
# characters, tags, lone surrogates, which no terminal can print. Joiners stay: emoji need them.
_CONTROLS = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def printable(text: object, *, keep_lines: bool = False) -> str:
    r"""Returns text in which control characters are visible, as in ``\x1b`` and ``\u202e``.

    Args:
        keep_lines: leaves line ends and tabs, of text that has several lines of its own.
    """

    def escaped(match: re.Match[str]) -> str:
        character = match[0]
        if keep_lines and character in "\n\t":
            return character
        code = ord(character)
        by_size = f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
        return _SHORT.get(character) or (by_size if code < 1 << 16 else f"\\U{code:08x}")

    return _CONTROLS.sub(escaped, str(text))


_MARKUP = re.compile(
    r"[\\`*~|$]"
    r"|\](?=[(\[:])|!(?=\[)"  # links and pictures; other brackets show as they are
    r"|(?<![^\W_])_|_(?![^\W_])"  # within a word it is no emphasis
    r"|^#|^[-+=](?!\w)|(?<=^\d)[.)](?!\w)|(?<=^\d\d)[.)](?!\w)|(?<=^\d\d\d)[.)](?!\w)"
)
_TAGS = re.compile(r"<(?=[a-z/!?])|^>|&(?=#?\w+;)", re.IGNORECASE)
"""Where markup begins; elsewhere the signs stay readable, as on a terminal."""
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def escaped_markdown(text: object) -> str:
    """Returns text that Markdown shows as it is, on one line: no tag, heading, link, cell or fence.

    Underscores within words stay, as Markdown leaves them alone.
    """
    line = " ".join(printable(text, keep_lines=True).split())
    escaped = _MARKUP.sub(lambda match: f"\\{match[0]}", line)
    return _TAGS.sub(lambda match: _ENTITIES[match[0]], escaped)


# Servers choose some of these texts: no pattern looks at a character more than a few times.
# A secret with a slash in it would be taken for a path: whoever writes KEY:SEC/RET@bucket leaves a
# colon that no port follows. Of http an address may end behind its port.
_LOGIN = re.compile(
    r"://(?:[^\s/?#]*|(?<=http://|ttps://)[^/?#:@]*:(?!\d+[/?#'\",])\S*"
    r"|(?<!http://|ttps://)[^/?#:@]*:(?!\d+['\",])\S*)@",
    re.IGNORECASE,
)
_WORD = re.compile(r"\S+")
_SECRET_NAME = re.compile(
    r"token(?!s|iz|[-_]?(?:count|length|limit))|secret|passw|passphrase|pwd|signature|credential"
    r"|api[_-]?key|access[_-]?key|authoriz|x-amz-security|key-pair"
    r"|(?:^|[-_.])(?:sig|key|pass|auth|jwt)$",
    re.IGNORECASE,
)
_PARAMETER = re.compile(r"(?:^|(?<=[?&;#\s'\"]))(?P<name>[\w.-]+)(?P<sign>=)[^&;#\s'\"]+")
_OPTION = re.compile(r"(?:^|(?<=\s))(?P<name>--[\w.-]+)(?P<sign>\s+)(?!-)\S+")


def _hide_login(word: re.Match[str]) -> str:
    before, at, after = word[0].rpartition("@")
    return _LOGIN.sub(f"://{HIDDEN}@", before + at) + after


def _hide_value(found: re.Match[str]) -> str:
    is_secret = _SECRET_NAME.search(found["name"])
    return f"{found['name']}{found['sign']}{HIDDEN}" if is_secret else found[0]


def without_secrets(text: object) -> str:
    """Returns text whose addresses and options keep no password, key, token or signature.

    ``s3://KEY:SECRET@bucket`` and ``https://user:pass@host`` lose what stands before the ``@``;
    parameters such as ``X-Amz-Signature=``, ``sig=``, ``token=`` and ``password=``, of an address,
    an option or the environment, lose their value. The rest stays, so that an address still says
    what it is of, and the same address with another token gives the same text.

    Args:
        text: an address, an argument, or prose that holds some.
    """
    found = _WORD.sub(_hide_login, str(text))
    return _OPTION.sub(_hide_value, _PARAMETER.sub(_hide_value, found))


def values_without_secrets(value: Any) -> Any:
    """Returns a value of JSON in which every string is without secrets."""
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, dict):
        return {key: values_without_secrets(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [values_without_secrets(inner) for inner in value]
    return value


def told(text: object, *, keep_lines: bool = False) -> str:
    """Returns text as an error or a log may tell it: without secrets, controls made visible."""
    return printable(without_secrets(text), keep_lines=keep_lines)


class ToldRecord(logging.LogRecord):
    """A record whose message and traceback are told as above, whoever logs it."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        if self.exc_info:  # a formatter takes the text that is there
            trace = "".join(traceback.format_exception(*self.exc_info)).rstrip("\n")
            self.exc_text = told(trace, keep_lines=True)

    def getMessage(self) -> str:  # noqa: N802 - logging's name
        """Returns the message."""
        return told(super().getMessage(), keep_lines=True)


def guard_logs() -> None:
    """Has every message that this process logs from now on be told without secrets and controls."""
    logging.setLogRecordFactory(ToldRecord)


def decoded_lines(stream: Iterable[bytes], name: str) -> Iterator[str]:
    """Yields the lines of a text without their ends, ``\\n`` or ``\\r\\n``.

    Other breaks, such as form feeds, are white space in a line. A mark of the byte order, which
    editors on Windows write first, is left out.

    Args:
        stream: UTF-8, cut at line feeds, as a binary file is read.
        name: of the text, for messages.

    Raises:
        ValueError: a line is not UTF-8; names it.
    """
    for number, line in enumerate(stream, start=1):
        encoding = "utf-8-sig" if number == 1 else "utf-8"
        try:
            yield line.removesuffix(b"\n").removesuffix(b"\r").decode(encoding)
        except UnicodeDecodeError as error:
            raise ValueError(f"{name}:{number}: not UTF-8 ({error.reason}); convert it") from error


def listed_strings(given: Iterable[str], hint: str = "") -> list[str]:
    """Returns sentences as a list, whatever holds them in an order.

    Args:
        given: sentences.
        hint: what to say of one that is a list of tokens.

    Raises:
        ValueError: it holds none in an order, or something else than strings.
    """
    if isinstance(given, str):
        raise ValueError("give a list of sentences, not one string")
    if not isinstance(given, Iterable) or isinstance(given, bytes | Mapping | Set):
        raise ValueError(f"give a list of sentences, not {type(given).__name__}")
    if hasattr(given, "columns"):  # it would be read by the names of its columns
        raise ValueError(
            f"give a list of sentences, not a table ({type(given).__name__}): give one of its "
            "columns, such as table['text']"
        )
    return [checked_string(one, index, hint) for index, one in enumerate(given)]


def checked_string(sentence: object, index: int, hint: str = "") -> str:
    """Returns a sentence.

    Args:
        sentence: should be a string.
        index: its place, from 0, for the message.
        hint: see `listed_strings`.

    Raises:
        ValueError: it is none.
    """
    if isinstance(sentence, str):
        return sentence
    more = hint if isinstance(sentence, list | tuple) else ""
    raise ValueError(f"sentence {index} (from 0) is {type(sentence).__name__}, not a string{more}")
