"""``treeviews inspect``: a corpus' rows, trees and counts, and whether all of it is right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.base.mistakes import DONE, FAILED, did_you_mean
from treeviews.command.output import AsJson, print_json

if TYPE_CHECKING:
    from pipeline.inspect.dataset import Selection

COMMANDS = ("overview", "head", "show", "pairs", "stats", "check")

CorpusPath = Annotated[
    str,
    typer.Argument(
        metavar="PATH",
        help="A corpus folder (with sentences/ in it), a stage's folder, or one shard's .parquet.",
    ),
]
NumRows = Annotated[int, typer.Option("-n", min=0, metavar="ROWS", help="How many.")]
Shard = Annotated[int | None, typer.Option(help="By default the first.")]


class _PathFirst(typer.core.TyperGroup):
    """Takes ``PATH`` alone for its overview, and ``PATH COMMAND`` as ``COMMAND PATH``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            if len(args) > 1 and args[1] in COMMANDS:
                args = [args[1], args[0], *args[2:]]
            elif Path(args[0]).exists() or "://" in args[0] or _is_alone(args):
                args = ["overview", *args]
        return super().parse_args(ctx, args)


def _is_alone(args: list[str]) -> bool:
    """Says whether nothing but options follows the first word, which then is no command."""
    return len(args) < 2 or args[1].startswith("-")


def add_to(app: typer.Typer) -> None:
    """Adds the subcommand with its own ones."""
    group = typer.Typer(
        cls=_PathFirst,
        no_args_is_help=True,
        rich_markup_mode=None,
        help="Look at parsed shards: inspect PATH, or inspect COMMAND PATH.",
    )
    group.command("overview")(overview)
    group.command("head")(head)
    group.command("show")(show)
    group.command("pairs")(pairs)
    group.command("stats")(stats)
    group.command("check")(check)
    app.add_typer(group, name="inspect")


def overview(path: CorpusPath, rows: NumRows = 10, as_json: AsJson = False) -> None:
    """Show counts, then the first sentences."""
    from pipeline.inspect.show import first_rows, head_lines
    from pipeline.inspect.stats import stats_lines, stats_of

    selection = _selected(path)
    if as_json:
        print_json({"stages": [*stats_of(selection)], "rows": [*first_rows(selection, rows)]})
        return
    _print(stats_lines(selection))
    _print(head_lines(selection, num_rows=rows, parses=False))


def head(path: CorpusPath, rows: NumRows = 10, as_json: AsJson = False) -> None:
    """Show the first sentences and their parses."""
    from pipeline.inspect.show import first_rows, head_lines

    selection = _selected(path)
    if as_json:
        print_json([*first_rows(selection, rows)])
        return
    _print(_gaps(selection))
    _print(head_lines(selection, num_rows=rows, parses=True))


def show(
    path: CorpusPath,
    shard: Shard = None,
    row: Annotated[int, typer.Option(help="Its number in the shard, from 0.")] = 0,
    binary: Annotated[bool, typer.Option("--binary", help="The binarized tree, too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show one sentence with its trees drawn."""
    from pipeline.inspect.show import row_of, show_lines

    selection = _selected(path)
    if not as_json:
        _print(_gaps(selection))
    number = selection.shared_numbers()[0] if shard is None else shard
    if as_json:
        print_json({"shard": number, "row": row, **row_of(selection, number, row)})
        return
    _print(show_lines(selection, shard=number, row=row, binary=binary))


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
) -> None:
    """Show to how many sentences each transformation of syntax applies, and examples."""
    from pipeline.inspect.pairs import pairs_lines, row_lines
    from pipeline.transformations.registry import TRANSFORMATIONS

    if transformation is not None and transformation not in TRANSFORMATIONS:
        raise typer.BadParameter(
            f"--transformation: none is called {transformation!r}; there are "
            f"{', '.join(TRANSFORMATIONS)}{did_you_mean(transformation, known=TRANSFORMATIONS)}"
        )
    selection = _selected(path)
    _print(_gaps(selection))
    if row is not None:
        number = selection.shared_numbers()[0] if shard is None else shard
        _print(row_lines(selection, shard=number, row=row))
        return
    names = [transformation] if transformation else [*TRANSFORMATIONS]
    _print(pairs_lines(selection, names=names, shard=shard, num_examples=first))


def stats(path: CorpusPath, as_json: AsJson = False) -> None:
    """Show rows, lengths, labels, what was refused, speed."""
    from pipeline.inspect.stats import stats_lines, stats_of

    if as_json:
        print_json([*stats_of(_selected(path))])
        return
    _print(stats_lines(_selected(path)))


def check(
    path: CorpusPath,
    max_faults: Annotated[int, typer.Option(min=0, help="How many are shown.")] = 20,
    as_json: AsJson = False,
) -> int:
    """Say whether files, rows and trees are right; exits 1 if not."""
    from pipeline.inspect.check import faults_of, notes_of

    selection = _selected(path)
    faults = list(faults_of(selection))
    code = FAILED if faults else DONE
    if as_json:
        shown = [asdict(fault) for fault in faults]
        print_json({"right": not faults, "faults": shown, "notes": [*notes_of(selection)]})
        return code
    _print(map(str, faults[:max_faults]), keep_lines=False)
    if len(faults) > max_faults:
        print(f"and {len(faults) - max_faults:,} more")
    _print(notes_of(selection), keep_lines=False)
    folders = ", ".join(str(folder.path) for folder in selection.folders)
    _print([f"{len(faults):,} faults" if faults else f"all is right: {folders}"], keep_lines=False)
    return code


def _selected(path: str) -> Selection:
    """Returns the stages at a path.

    Raises:
        ValueError: it is a URL, or no shard is there.
    """
    from pipeline.inspect.dataset import select

    if "://" in path:
        raise typer.BadParameter(
            f"{path} is a URL: copy each stage that is to be looked at by "
            "`python -m pipeline.storage URL FOLDER`, then give the folder"
        )
    return select(Path(path))


def _gaps(selection: Selection) -> Iterator[str]:
    for folder in selection.folders:
        yield from (f"incomplete: {folder.path}: {gap}" for gap in folder.gaps())


def _print(lines: Iterable[str], *, keep_lines: bool = True) -> None:
    from pipeline.base.foreign_text import printable

    for line in lines:
        print(printable(line, keep_lines=keep_lines))
