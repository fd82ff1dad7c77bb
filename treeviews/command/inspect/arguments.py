"""What the subcommands of ``inspect`` share: their arguments, and how they print."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from treeviews.command.output import say

if TYPE_CHECKING:
    from pipeline.inspect.dataset import Selection

CorpusPath = Annotated[
    str,
    typer.Argument(
        metavar="PATH",
        help="A corpus folder (with sentences/ in it), a stage's folder, or one shard's .parquet.",
    ),
]
NumRows = Annotated[int, typer.Option("-n", min=0, metavar="ROWS", help="How many.")]
Shard = Annotated[int | None, typer.Option(help="By default the first.")]
Stages = Annotated[
    list[str] | None,
    typer.Option(
        "--stage",
        metavar="FOLDER",
        help="Where there are several parses of a kind: the name of the one to read, or how it "
        "begins. May be given twice.",
    ),
]


def selected(path: str, stages: Iterable[str] | None = None) -> Selection:
    """Returns the stages at a path.

    Args:
        path: as it was given.
        stages: names of folders, of kinds of which there are several.

    Raises:
        ValueError: it is a URL, no shard is there, or no folder is called so.
    """
    from pipeline.inspect.dataset import select

    if "://" in path:
        raise typer.BadParameter(
            f"{path} is a URL: copy each stage that is to be looked at by "
            "`python -m pipeline.storage URL FOLDER`, then give the folder"
        )
    return select(Path(path)).with_stages(list(stages or ()))


def selected_rows(path: str, stages: Iterable[str] | None = None) -> Selection:
    """Returns the stages at a path, whose rows are to stand side by side: one of each kind.

    Args:
        path: as it was given.
        stages: names of folders, of kinds of which there are several.

    Raises:
        ValueError: see `selected`; or there are several of a kind, of which none is named.
    """
    selection = selected(path, stages)
    selection.check_one_of_each()
    return selection


def gaps(selection: Selection) -> Iterator[str]:
    """Yields what the stages lack to be complete."""
    for folder in selection.folders:
        yield from (f"incomplete: {folder.path}: {gap}" for gap in folder.gaps())


def say_gaps(selection: Selection) -> None:
    """Tells on standard error what the stages lack to be complete."""
    from pipeline.base.foreign_text import printable

    for gap in gaps(selection):
        say(printable(gap))


def print_lines(lines: Iterable[str], *, keep_lines: bool = True) -> None:
    """Prints lines in which no character is hidden.

    Args:
        lines: text that may hold a corpus' own.
        keep_lines: whether a line may have line ends of its own.
    """
    from pipeline.base.foreign_text import printable

    for line in lines:
        print(printable(line, keep_lines=keep_lines))
