"""What makes a row of each stage right; every function yields (field, problem) or with a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.inspect.head import constituency_of
from pipeline.trees.binarize import binarize
from pipeline.trees.flat import validate_constituents, validate_heads

RowFault = tuple[str, str]
"""Field and problem."""


def row_faults(stage: str, row: dict[str, Any], num_tokens: int | None) -> Iterator[RowFault]:
    """Yields what is wrong with one row.

    Args:
        row: the stage's columns.
        num_tokens: how many words the sentence has, where its shard is at hand.
    """
    if stage == "sentences":
        yield from _token_faults(row["tokens"])
        return
    missing = [name for name, value in row.items() if value is None]
    if missing:
        if len(missing) < len(row):
            yield missing[0], f"null, but {next(n for n in row if n not in missing)} is not"
        return
    if stage == "dependencies":
        yield from _dependency_faults(row, num_tokens)
    else:
        yield from _constituent_faults(row, num_tokens)


def _token_faults(tokens: Sequence[str]) -> Iterator[RowFault]:
    if not tokens:
        yield "tokens", "no token"
    elif not all(tokens):
        yield "tokens", f"token {list(tokens).index('') + 1} is empty"


def _dependency_faults(row: dict[str, Any], num_tokens: int | None) -> Iterator[RowFault]:
    heads, deprels = row["heads"], row["deprels"]
    if num_tokens is not None and len(heads) != num_tokens:
        yield "heads", f"{len(heads)} heads for {num_tokens} tokens"
        return
    problem = validate_heads(heads)
    if problem is not None:
        yield "heads", problem
    if len(deprels) != len(heads):
        yield "deprels", f"{len(deprels)} relations for {len(heads)} heads"


def _constituent_faults(row: dict[str, Any], num_tokens: int | None) -> Iterator[RowFault]:
    parse = constituency_of(row)
    problem = validate_constituents(parse, len(parse.tags) if num_tokens is None else num_tokens)
    if problem is not None:
        yield "span_starts", problem
        return
    try:
        tree = binarize(parse)
    except ValueError as error:
        yield "span_labels", str(error)
        return
    for field, expected in (("binary_left", tree.left), ("binary_right", tree.right)):
        if row[field] != expected:
            yield field, f"is {row[field]}, the binarization of the spans is {expected}"


class DocumentOrder:
    """Follows documents over the shards of a stage, which are given to it in order."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._document: str | None = None
        self._index = -1

    def faults(self, table: pa.Table) -> Iterator[tuple[int, str, str]]:
        """Yields (row, field, problem) where a document is torn or its indices do not rise."""
        if not table.num_rows:
            return
        names = table["document_id"].combine_chunks()
        indices = np.append(self._index, table["sentence_index"].to_numpy())
        codes = names.indices.to_numpy()
        begins = np.append(True, codes[1:] != codes[:-1])
        begins[0] = names[0].as_py() != self._document
        for row in np.flatnonzero(begins | (indices[1:] <= indices[:-1])).tolist():
            if begins[row]:
                document = names[row].as_py()
                if document in self._seen:
                    yield row, "document_id", f"{document!r} goes on after another document"
                self._seen.add(document)
            else:
                problem = f"{indices[row + 1]} follows {indices[row]} in one document"
                yield row, "sentence_index", problem
        self._document, self._index = names[-1].as_py(), int(indices[-1])
