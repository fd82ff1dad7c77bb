"""Penn Treebank tokens as SentEval gives them to MR, CR, SUBJ and MPQA.

SentEval pipes these four through ``cat -v`` and Robert MacIntyre's tokenizer of 1995, so that the
text is ASCII (a byte above 127 is spelt ``M-`` and a character) and every line ends in a space.
The rules below do the same, so that the files are SentEval's byte for byte.
"""

from __future__ import annotations

import re

_ENCLITICS = ("ll", "re", "ve")

_SPLITS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        # Opening quotation marks: at the line's begin, after a space or an opening bracket.
        (r'^"', "`` "),
        (r'([ (\[{<])"', r"\1 `` "),
        # Marks that always stand alone; of periods, ellipses and the one that ends the sentence.
        (r"\.\.\.", " ... "),
        (r"([,;:@#$%&])", r" \1 "),
        (r"([^.])\.([\])}>\"']*)[ \t]*$", r"\1 .\2 "),
        (r"([?!])", r" \1 "),
        (r"([\]\[(){}<>])", r" \1 "),
        (r"--", " -- "),
        # A space at both ends spares the rules below the ends of the line.
        (r"^|$", " "),
        (r'"', " '' "),
        # Possessives, closing single quotation marks, contractions.
        (r"([^'])' ", r"\1 ' "),
        (r"'([sSmMdD]) ", r" '\1 "),
        *(
            (f"'{case} ", f" '{case} ")
            for ending in _ENCLITICS
            for case in (ending, ending.upper())
        ),
        (r"n't ", " n't "),
        (r"N'T ", " N'T "),
        (r" ([Cc])annot ", r" \1an not "),
        (r" ([Dd])'ye ", r" \1' ye "),
        (r" ([Gg])imme ", r" \1im me "),
        (r" ([Gg])onna ", r" \1on na "),
        (r" ([Gg])otta ", r" \1ot ta "),
        (r" ([Ll])emme ", r" \1em me "),
        (r" ([Mm])ore'n ", r" \1ore 'n "),
        (r" '([Tt])is ", r" '\1 is "),
        (r" '([Tt])was ", r" '\1 was "),
        (r" ([Ww])anna ", r" \1an na "),
        (r" +", " "),
        (r"^ +", ""),
    )
)


def _visible(byte: int) -> str:
    """Returns how ``cat -v`` shows a byte: ``M-`` for the eighth bit, ``^`` for controls."""
    if byte in b"\t\n":
        return chr(byte)
    high, low = divmod(byte, 128)
    shown = f"^{chr(low ^ 64)}" if low < 32 or low == 127 else chr(low)
    return f"M-{shown}" if high else shown


_VISIBLE = {byte: _visible(byte) for byte in range(256)}


def treebank_line(text: str) -> str:
    """Returns a line's tokens, each followed by one space."""
    for pattern, replacement in _SPLITS:
        text = pattern.sub(replacement, text)
    return text


def treebank_tokens(content: bytes) -> bytes:
    """Returns a file's lines as visible ASCII, tokenized."""
    visible = content.decode("latin-1").translate(_VISIBLE)
    lines = visible.removesuffix("\n").split("\n") if visible else []
    ended = "".join(f"{treebank_line(line)}\n" for line in lines)
    return ended.encode("ascii") if content.endswith(b"\n") else ended[:-1].encode("ascii")
