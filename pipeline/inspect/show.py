"""``head``: the first sentences, their parses on a line each; ``show``: one, its trees drawn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pipeline.inspect.dataset import Selection, read_rows
from pipeline.inspect.drawing import draw_binary, draw_constituents, draw_dependencies
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
            yield _sentence_line(row, f"{number}:{position}")
            if parses and "heads" in row:
                yield " " * 9 + _dependencies_in_line(row)
            if parses and "span_starts" in row:
                yield " " * 9 + _constituents_in_line(row)


def show_lines(selection: Selection, *, shard: int, row: int, binary: bool) -> Iterator[str]:
    """Yields a sentence and its trees.

    Args:
        binary: whether to draw the binarized constituency tree, too.

    Raises:
        ValueError: the shard has no such row, or the sentences are not beside the parses.
    """
    if selection.sentences is None:
        raise ValueError("no sentences beside this stage; give the folder that holds both")
    found = list(read_rows(selection, shard, start=row, count=1)) if row >= 0 else []
    if not found:
        raise ValueError(f"shard {shard} has no row {row}; see its rows with `stats`")
    values = found[0]
    tokens = values["tokens"]
    yield _sentence_line(values, f"{shard}:{row}")
    if "heads" in values:
        yield "\ndependencies"
        if values["heads"] is None:
            yield "(rejected by the parser)"
        else:
            yield draw_dependencies(tokens, values["heads"], values["deprels"])
    if "span_starts" in values:
        yield "\nconstituents"
        if values["span_starts"] is None:
            yield "(rejected by the parser)"
            return
        yield draw_constituents(tokens, constituency_of(values))
        if binary:
            yield "\nbinarized"
            yield draw_binary(tokens, values["binary_left"], values["binary_right"])


def constituency_of(row: dict[str, Any]) -> ConstituencyParse:
    """Returns the constituency tree of a row that has one."""
    columns = ("span_starts", "span_ends", "span_labels", "tags")
    return ConstituencyParse(*(row[name] for name in columns))


def _sentence_line(row: dict[str, Any], place: str) -> str:
    """Returns where a row stands, its document and its text."""
    text = " ".join(row.get("tokens") or ["(no sentences beside this stage)"])
    return f"{place:>7}  {row.get('document_id', '?')} {row.get('sentence_index', '?')}  {text}"


def _dependencies_in_line(row: dict[str, Any]) -> str:
    if row["heads"] is None:
        return "(rejected by the dependency parser)"
    words = row.get("tokens") or [str(number) for number in range(1, len(row["heads"]) + 1)]
    names = ["ROOT", *words]
    return " ".join(
        f"{word}←{relation}–{names[head]}"
        for word, head, relation in zip(words, row["heads"], row["deprels"], strict=True)
    )


def _constituents_in_line(row: dict[str, Any]) -> str:
    if row["span_starts"] is None:
        return "(rejected by the constituency parser)"
    return to_brackets(row.get("tokens") or [""] * len(row["tags"]), constituency_of(row))
