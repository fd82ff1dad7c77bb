"""``inspect overview``, ``head``, ``show``, ``pairs``: rows as they stand in the shards."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from pipeline.base.mistakes import did_you_mean
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


def pairs(
    path: CorpusPath,
    shard: Shard = None,
    row: Annotated[
        int | None, typer.Option(help="All that can be made of this one sentence.")
    ] = None,
    transformation: Annotated[
        str | None, typer.Option(metavar="NAME", help="This one; by default all.")
    ] = None,
    first: Annotated[int, typer.Option(min=0, help="Examples of each.")] = 5,
    stage: Stages = None,
    as_json: AsJson = False,
) -> None:
    """Show to how many sentences each transformation of syntax applies, and examples."""
    from pipeline.inspect.pairs import pairs_lines, pairs_of, row_lines, row_pairs
    from pipeline.transformations.registry import TRANSFORMATIONS

    if transformation is not None and transformation not in TRANSFORMATIONS:
        raise typer.BadParameter(
            f"--transformation: none is called {transformation!r}; there are "
            f"{', '.join(TRANSFORMATIONS)}{did_you_mean(transformation, known=TRANSFORMATIONS)}"
        )
    selection = selected_rows(path, stage)
    if not as_json:
        print_lines(gaps(selection))
    if row is not None:
        number = selection.shared_numbers()[0] if shard is None else shard
        made = row_pairs(selection, shard=number, row=row)
        print_json(made) if as_json else print_lines(row_lines(made))
        return
    names = [transformation] if transformation else [*TRANSFORMATIONS]
    found = pairs_of(selection, names=names, shard=shard, num_examples=first)
    print_json(asdict(found)) if as_json else print_lines(pairs_lines(found))
