"""The steps that turn what others publish into SentEval's files; each takes and gives a file.

SentEval tokenizes STS, STS-B and SICK with Moses' Perl script. Differs from SentEval: where these
sets are made of their original archives, tokens are those of `EnglishTokenizer`, with which this
project parses. It cuts contractions elsewhere (``is n't`` for Moses' ``isn 't``), cuts at hyphens,
slashes and symbols that Moses leaves, and knows abbreviations of its own. The columns, the order,
the case and the scores are SentEval's.

MR, CR, SUBJ and MPQA it pipes through ``cat -v`` and Robert MacIntyre's tokenizer of 1995, so that
the text is ASCII (a byte above 127 is spelt ``M-`` and a character) and every line ends in a space.
`treebank_tokens` does the same, so that these files are SentEval's byte for byte.
"""

from __future__ import annotations

import re

from pipeline.text.tokenization import EnglishTokenizer

_SPACE = re.compile(r"\s+")
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


def without_quotes(content: bytes) -> bytes:
    """Returns TREC's questions without apostrophes and backquotes, as SentEval has them."""
    return content.translate(None, delete=b"`'")


def similarity_pairs(content: bytes) -> bytes:
    """Returns an STS year's pairs: the first two columns, tokenized, in lower case."""
    return _with_tokens(content, 2, columns=(0, 1))


def similarity_benchmark(content: bytes) -> bytes:
    """Returns STS-B's rows: seven columns, the sentences tokenized and in lower case."""
    return _with_tokens(content, 7, columns=(5, 6))


def sick_pairs(content: bytes) -> bytes:
    """Returns SICK's rows below their header: five columns, the sentences tokenized and cased."""
    return _with_tokens(content, 5, columns=(1, 2), has_header=True, lower=False)


def _with_tokens(
    content: bytes,
    num_fields: int,
    *,
    columns: tuple[int, int],
    has_header: bool = False,
    lower: bool = True,
) -> bytes:
    """Returns a table's first fields, separated by tabs, with the sentences of two tokenized.

    Raises:
        ValueError: the file is not UTF-8, or a line has fewer fields.
    """
    lines = content.decode("utf-8").removesuffix("\n").split("\n")
    rows = [line.removesuffix("\r").split("\t") for line in lines]
    for number, row in enumerate(rows, start=1):
        if len(row) < num_fields:
            raise ValueError(f"line {number} has {len(row)} fields, expected {num_fields}")
    for column in columns:
        texts = [_SPACE.sub(" ", row[column]).strip() for row in rows[has_header:]]
        tokenized = EnglishTokenizer().tokenize(texts)
        for row, tokens in zip(rows[has_header:], tokenized, strict=True):
            text = " ".join(tokens.words)
            row[column] = text.lower() if lower else text
    return "".join("\t".join(row[:num_fields]) + "\n" for row in rows).encode("utf-8")


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
