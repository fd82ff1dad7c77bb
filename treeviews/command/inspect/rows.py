"""``inspect overview``, ``head``, ``show``: rows as they stand in the shards."""

from __future__ import annotations

from typing import Annotated

import typer

from treeviews.command.inspect.arguments import (
    CorpusPath,
    NumRows,
    Shard,
    Stages,
    gaps,
    print_lines,
    selected,
    selected_rows,
)
from treeviews.command.output import AsJson, print_json


def overview(path: CorpusPath, rows: NumRows = 10, as_json: AsJson = False) -> None:
    """Show counts, then the first sentences."""
    from pipeline.inspect.show import first_rows, head_lines
    from pipeline.inspect.stats import stats_lines, stats_of

    selection = selected(path)
    if as_json:
        print_json({"stages": [*stats_of(selection)], "rows": [*first_rows(selection, rows)]})
        return
    print_lines(stats_lines(selection))
    print_lines(head_lines(selection, num_rows=rows, parses=False))


def head(
    path: CorpusPath, rows: NumRows = 10, stage: Stages = None, as_json: AsJson = False
) -> None:
    """Show the first sentences and their parses."""
    from pipeline.inspect.show import first_rows, head_lines

    selection = selected_rows(path, stage)
    if as_json:
        print_json([*first_rows(selection, rows)])
        return
    print_lines(gaps(selection))
    print_lines(head_lines(selection, num_rows=rows, parses=True))


def show(
    path: CorpusPath,
    shard: Shard = None,
    row: Annotated[int, typer.Option(help="Its number in the shard, from 0.")] = 0,
    binary: Annotated[bool, typer.Option("--binary", help="The binarized tree, too.")] = False,
    stage: Stages = None,
    as_json: AsJson = False,
) -> None:
    """Show one sentence with its trees drawn."""
    from pipeline.inspect.show import row_of, show_lines

    selection = selected_rows(path, stage)
    if not as_json:
        print_lines(gaps(selection))
    number = selection.shared_numbers()[0] if shard is None else shard
    if as_json:
        print_json({"shard": number, "row": row, **row_of(selection, number, row)})
        return
    print_lines(show_lines(selection, shard=number, row=row, binary=binary))
