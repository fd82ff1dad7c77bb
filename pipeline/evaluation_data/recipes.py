"""The steps that turn what others publish into SentEval's files; each takes and gives a file.

SentEval tokenizes STS, STS-B and SICK with Moses' Perl script. Differs from SentEval: where these
sets are made of their original archives, tokens are those of `EnglishTokenizer`, with which this
project parses. It cuts contractions elsewhere (``is n't`` for Moses' ``isn 't``), cuts at hyphens,
slashes and symbols that Moses leaves, and knows abbreviations of its own. The columns, the order,
the case and the scores are SentEval's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.sentences.tokenization import EnglishTokenizer

_SPACE = re.compile(r"\s+")
_FIELDS_OF_STS = 2
_FIELDS_OF_STS_BENCHMARK = 7
_FIELDS_OF_SICK = 5


def without_quotes(content: bytes) -> bytes:
    """Returns TREC's questions without apostrophes and backquotes, as SentEval has them."""
    return content.translate(None, delete=b"`'")


def similarity_pairs(content: bytes) -> bytes:
    """Returns an STS year's pairs: the first two columns, tokenized, in lower case."""
    rows = _rows(content, _FIELDS_OF_STS)
    columns = [_tokenized([row[column] for row in rows]) for column in (0, 1)]
    return _joined([[field.lower() for field in row] for row in zip(*columns, strict=True)])


def similarity_benchmark(content: bytes) -> bytes:
    """Returns STS-B's rows: seven columns, the sentences tokenized and in lower case."""
    rows = _rows(content, _FIELDS_OF_STS_BENCHMARK)
    first, second = (_tokenized([row[column] for row in rows]) for column in (5, 6))
    return _joined(
        [[*row[:5], a.lower(), b.lower()] for row, a, b in zip(rows, first, second, strict=True)]
    )


def sick_pairs(content: bytes) -> bytes:
    """Returns SICK's rows below their header: five columns, the sentences tokenized and cased."""
    header, *rows = _rows(content, _FIELDS_OF_SICK)
    first, second = (_tokenized([row[column] for row in rows]) for column in (1, 2))
    return _joined(
        [
            header,
            *([row[0], a, b, *row[3:5]] for row, a, b in zip(rows, first, second, strict=True)),
        ]
    )


def _rows(content: bytes, num_fields: int) -> list[list[str]]:
    """Returns the lines' tab-separated fields, of which further ones are left out.

    Raises:
        ValueError: the file is not UTF-8, or a line has fewer fields.
    """
    lines = content.decode("utf-8").removesuffix("\n").split("\n")
    rows = [line.removesuffix("\r").split("\t") for line in lines]
    for number, row in enumerate(rows, start=1):
        if len(row) < num_fields:
            raise ValueError(f"line {number} has {len(row)} fields, expected {num_fields}")
    return [row[:num_fields] for row in rows]


def _tokenized(texts: Sequence[str]) -> list[str]:
    plain = [_SPACE.sub(" ", text).strip() for text in texts]
    return [" ".join(tokens.words) for tokens in EnglishTokenizer().tokenize(plain)]


def _joined(rows: Sequence[Sequence[str]]) -> bytes:
    return "".join("\t".join(row) + "\n" for row in rows).encode("utf-8")
