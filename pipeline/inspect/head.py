"""``head``: the first sentences, with their parses on one line each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pipeline.inspect.dataset import Selection, read_rows
from pipeline.trees.flat import to_brackets
from pipeline.trees.parses import ConstituencyParse


def head_lines(selection: Selection, *, num_rows: int, parses: bool) -> Iterator[str]:
    """Yields the lines of the first rows.

    Args:
        parses: whether to write what the parsers made of each sentence.
    """
    left = num_rows
    for number in selection.shared_numbers():
        if left <= 0:
            return
        rows = list(read_rows(selection, number, count=left))
        left -= len(rows)
        for position, row in enumerate(rows):
            yield from row_lines(row, f"{number}:{position}", parses=parses)


def row_lines(row: dict[str, Any], place: str, *, parses: bool) -> Iterator[str]:
    """Yields a row's lines: place, document and text, then its parses."""
    where = f"{place:>7}  {row.get('document_id', '?')} {row.get('sentence_index', '?')}  "
    tokens = row.get("tokens")
    yield where + (" ".join(tokens) if tokens else "(no sentences beside this stage)")
    if parses and "heads" in row:
        yield " " * 9 + _dependencies(tokens, row)
    if parses and "span_starts" in row:
        yield " " * 9 + _constituents(tokens, row)


def _dependencies(tokens: list[str] | None, row: dict[str, Any]) -> str:
    if row["heads"] is None:
        return "(rejected by the dependency parser)"
    words = tokens or [str(number) for number in range(1, len(row["heads"]) + 1)]
    names = ["ROOT", *words]
    return " ".join(
        f"{word}←{relation}–{names[head]}"
        for word, head, relation in zip(words, row["heads"], row["deprels"], strict=True)
    )


def _constituents(tokens: list[str] | None, row: dict[str, Any]) -> str:
    if row["span_starts"] is None:
        return "(rejected by the constituency parser)"
    return to_brackets(tokens or [""] * len(row["tags"]), constituency_of(row))


def constituency_of(row: dict[str, Any]) -> ConstituencyParse:
    """Returns the constituency tree of a row that has one."""
    return ConstituencyParse(
        starts=row["span_starts"],
        ends=row["span_ends"],
        labels=row["span_labels"],
        tags=row["tags"],
    )
