"""``show``: one sentence with its trees drawn as text."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.inspect.dataset import Selection, read_rows
from pipeline.inspect.drawing import draw_binary, draw_constituents, draw_dependencies
from pipeline.inspect.head import constituency_of, row_lines


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
    yield from row_lines(values, f"{shard}:{row}", parses=False)
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
