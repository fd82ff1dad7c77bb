"""What makes the rows of each stage right, row by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.inspect.rows import ROWS_AT_ONCE, constituency_of
from pipeline.shards.arrow import vectors_of
from pipeline.shards.schema import EMBEDDING, EMBEDDINGS
from pipeline.trees.flat_trees import binarize, validate_constituents, validate_heads

RowFault = tuple[str, str]
"""Field and problem."""


def faults_in_rows(
    stage: str, table: pa.Table, sentences: pa.Table | None
) -> Iterator[tuple[int, str, str]]:
    """Yields (row, field, problem).

    Args:
        table: all of the stage's columns.
        sentences: the rows of the sentences they are parses of, where these are at hand.
    """
    for start in range(0, table.num_rows, ROWS_AT_ONCE):
        rows = table.slice(start, ROWS_AT_ONCE)
        if stage == EMBEDDINGS:
            vectors, _ = vectors_of(rows[EMBEDDING])
            for position in np.flatnonzero(~np.isfinite(vectors).all(axis=1)).tolist():
                yield start + position, EMBEDDING, "has a number that is not finite"
            continue
        tokens: list[list[str] | None] = [None] * rows.num_rows
        if sentences is not None:
            tokens = sentences["tokens"].slice(start, ROWS_AT_ONCE).to_pylist()
        for position, (row, words) in enumerate(zip(rows.to_pylist(), tokens, strict=True), start):
            for field, problem in row_faults(stage, row, None if words is None else len(words)):
                yield position, field, problem


def row_faults(stage: str, row: dict[str, Any], num_tokens: int | None) -> Iterator[RowFault]:
    """Yields what is wrong with one row.

    Args:
        row: the stage's columns; of constituents those of the binary tree may be left out.
        num_tokens: how many words the sentence has, where its shard is at hand.
    """
    if stage == "sentences":
        tokens = row["tokens"]
        if not tokens:
            yield "tokens", "no token"
        elif not all(tokens):
            yield "tokens", f"token {tokens.index('') + 1} is empty"
        return
    missing = [name for name, value in row.items() if value is None]
    if missing:
        if len(missing) < len(row):
            yield missing[0], f"null, but {next(n for n in row if n not in missing)} is not"
    elif stage == "dependencies":
        yield from _dependency_faults(row["heads"], row["deprels"], num_tokens)
    else:
        yield from _constituent_faults(row, num_tokens)


def _dependency_faults(
    heads: Sequence[int], deprels: Sequence[str], num_tokens: int | None
) -> Iterator[RowFault]:
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
    if "binary_left" not in row:
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
        places = zip(
            table["document_id"].to_pylist(), table["sentence_index"].to_pylist(), strict=True
        )
        for row, (document, index) in enumerate(places):
            if document != self._document:
                if document in self._seen:
                    yield row, "document_id", f"{document!r} goes on after another document"
                self._seen.add(document)
            elif index <= self._index:
                yield row, "sentence_index", f"{index} follows {self._index} in one document"
            self._document, self._index = document, index
