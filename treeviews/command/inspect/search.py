"""``inspect grep`` and ``html``: sentences that have what is asked for, as lines or drawn."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.base.foreign_text import printable
from treeviews.command.inspect.arguments import (
    CorpusPath,
    Stages,
    print_lines,
    say_gaps,
    selected,
)
from treeviews.command.inspect.condition_options import takes_conditions
from treeviews.command.output import AsJson, check_output, print_json, say

if TYPE_CHECKING:
    from pipeline.inspect.chosen import Found, Search
    from pipeline.inspect.conditions import Conditions
    from pipeline.inspect.dataset import Selection

DRAWN = ("dependencies", "constituents")
"""Stages whose trees are drawn."""
MOST_DRAWN = 1_000
"""Sentences on one page; more are slow to open."""


@takes_conditions
def grep(
    path: CorpusPath,
    rows: Annotated[int, typer.Option("-n", min=1, metavar="ROWS", help="How many.")] = 20,
    everything: Annotated[bool, typer.Option("--all", help="All, instead of the first.")] = False,
    count: Annotated[bool, typer.Option("--count", help="Say how many there are, alone.")] = False,
    stage: Stages = None,
    as_json: AsJson = False,
    *,
    conditions: Conditions,
) -> None:
    """Find sentences by words, relations, labels, depth and length; all conditions hold at once.

    Each is told with SHARD:ROW: `inspect show PATH --shard SHARD --row ROW` draws it.
    """
    from pipeline.inspect.chosen import Search, match_lines

    selection = selected(path, stage)
    search = Search(selection, conditions)
    say_gaps(selection)
    if count:
        told = {"matches": search.count(), "rows": search.rows}
        text = f"{search.matches:,} of {search.rows:,} sentences"
        print_json(told) if as_json else print(text)
        _say_unheard_of(search)
        return
    found = search.found() if everything else islice(search.found(), rows)
    if as_json:
        _print_found(found, conditions, lambda: _counts(search, None if everything else rows))
        _say_unheard_of(search)
        return
    for one in found:
        print_lines(match_lines(one, conditions), keep_lines=False)
    if not everything and search.matches == rows:
        say(f"the first {search.matches:,}; --all shows all, --count counts them")
    else:
        say(f"{search.matches:,} of {search.rows:,} sentences")
    _say_unheard_of(search)


def _counts(search: Search, most: int | None) -> dict[str, int | bool]:
    """Returns how many were found among how many rows, and whether the search ended at ``most``."""
    return {"matches": search.matches, "rows": search.rows, "is_cut": search.matches == most}


def _say_unheard_of(search: Search) -> None:
    """Tells on standard error, where nothing was found, which names no tree has."""
    for line in () if search.matches else search.unheard_of():
        say(printable(line))


@takes_conditions
def html(
    path: CorpusPath,
    out: Annotated[Path, typer.Option("--out", help="The page's file, such as trees.html.")],
    at: Annotated[
        list[str] | None,
        typer.Option(metavar="SHARD:ROW", help="These sentences. May be given more than once."),
    ] = None,
    rows: Annotated[
        int, typer.Option("-n", min=1, max=MOST_DRAWN, metavar="ROWS", help="How many.")
    ] = 10,
    seed: Annotated[int, typer.Option(help="Of the sample, where nothing else is asked for.")] = 0,
    stage: Stages = None,
    as_json: AsJson = False,
    *,
    conditions: Conditions,
) -> None:
    """Draw sentences on one page: a sample, those named by --at, or the first that grep finds."""
    check_output(out)
    selection = selected(path, stage)
    say_gaps(selection)
    if not any(folder.stage in DRAWN for folder in selection.read_together):
        raise typer.BadParameter(f"{path}: no tree to draw; give the folder of a parsed corpus")
    found, how = _chosen(selection, conditions, at or [], (rows, seed))
    if not found:
        lacks = "has all that is asked for; ask for less" if conditions.asks_anything else "is here"
        raise typer.BadParameter(f"{path}: no sentence {lacks}")
    _write_page(out, selection, found, how)
    if as_json:
        places = [one.place._asdict() for one in found]
        print_json({"path": str(out), "chosen": how, "sentences": places})
        return
    print_lines([f"{len(found):,} sentences, {how}", str(out)])


def _chosen(
    selection: Selection, conditions: Conditions, at: list[str], drawn: tuple[int, int]
) -> tuple[list[Found], str]:
    """Returns the sentences to draw and how they were chosen; the sample has a number and a seed.

    Raises:
        ValueError: a place is none, or there is no sentence there.
    """
    from pipeline.inspect.chosen import (
        Search,
        check_stages,
        place_of,
        sampled_places,
        sentences_at,
    )
    from pipeline.inspect.conditions import Conditions

    check_stages(selection, Conditions())
    selection.check_one_of_each()
    num_rows, seed = drawn
    if at and conditions.asks_anything:
        raise typer.BadParameter("--at names the sentences: leave out the conditions, or --at")
    if at:
        return sentences_at(selection, [place_of(one) for one in at]), "named by --at"
    if conditions.asks_anything:
        columns = [name for folder in selection.read_together for name in _columns(folder.stage)]
        search = Search(selection, conditions, columns)
        return list(islice(search.found(), num_rows)), "the first that have what is asked for"
    places = sampled_places(selection, num_rows, seed)
    return sentences_at(selection, places), f"a sample by seed {seed}"


def _columns(stage: str) -> tuple[str, ...]:
    from pipeline.shards.schema import COLUMNS

    return COLUMNS[stage]


def _write_page(out: Path, selection: Selection, found: list[Found], how: str) -> None:
    from pipeline.inspect.drawing.page import write_page
    from pipeline.inspect.drawing.rows import drawn_row

    folders = [(folder.stage, str(folder.path)) for folder in selection.read_together]
    drawn = (drawn_row(str(one.place), one.row) for one in found)
    corpus = selection.folders[0].path.absolute().parent.name
    facts = [*folders, ("shown", f"{len(found):,} sentences, {how}")]
    write_page(out, f"Sentences of {corpus}", facts, drawn)


def _print_found(
    found: Iterable[Found], conditions: Conditions, counts: Callable[[], dict[str, int | bool]]
) -> None:
    """Prints matches as JSON one by one, so that any number of them needs no memory."""

    before = '{\n  "found": ['
    for one in found:
        told = one.to_dict() | {"matched": list(conditions.evidence(one.row))}
        print(f"{before}\n    {json.dumps(told)}", end="")
        before = ","
    rest = ",\n".join(f'  "{name}": {json.dumps(value)}' for name, value in counts().items())
    print(f"{before if before != ',' else ''}\n  ],\n{rest}\n}}")
