"""``treeviews inspect``: a corpus' rows, trees and counts, and whether all of it is right."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from treeviews.command.console import Result, check_output, say
from treeviews.pipeline.base.foreign_text import printable
from treeviews.pipeline.base.mistakes import DONE, FAILED

if TYPE_CHECKING:
    from treeviews.pipeline.inspect.aligned_rows import Selection

MOST_DRAWN = 1_000
"""Sentences on one page; more are slow to open."""

CorpusPath = Annotated[
    str,
    typer.Argument(
        metavar="PATH",
        help="A corpus folder (it has sentences/), the folder of a stage, or a .parquet shard.",
    ),
]
NumRows = Annotated[int, typer.Option("-n", min=0, metavar="ROWS", help="Number of sentences.")]
Stages = Annotated[
    list[str] | None,
    typer.Option(
        "--stage",
        metavar="FOLDER",
        help="If the corpus has several parses of a kind, the folder name of the one to read, or "
        "the beginning of the name. Can be given twice.",
    ),
]


def _selected(path: str, stages: Iterable[str] | None = None, *, tell: bool = False) -> Selection:
    """Returns the stages at a path; tells what they lack on standard error where that is wanted."""
    from treeviews.pipeline.inspect.aligned_rows import select

    if "://" in path:
        raise typer.BadParameter(
            f"{path} is a URL: copy the stages that are to be looked at, such as by `aws s3 sync`, "
            "then give the folder"
        )
    selection = select(Path(path)).with_stages(list(stages or ()))
    for folder in selection.folders if tell else ():
        for gap in folder.gaps():
            say(printable(f"incomplete: {folder.path}: {gap}"))
    return selection


def overview(path: CorpusPath, rows: NumRows = 10) -> Result:
    """Show counts, refusals, speed and the first sentences."""
    from treeviews.pipeline.inspect.aligned_rows import first_rows
    from treeviews.pipeline.inspect.show import overview_lines, sentence_line, stage_facts

    selection = _selected(path)
    first = [*first_rows(selection, rows)]
    facts = {"stages": stage_facts(selection), "rows": first}
    return Result(facts, chain(overview_lines(selection), map(sentence_line, first)))


def show(
    path: CorpusPath,
    shard: Annotated[int | None, typer.Option(help="Shard number; default: the first.")] = None,
    row: Annotated[int, typer.Option(help="Number of the row in the shard, from 0.")] = 0,
    stage: Stages = None,
) -> Result:
    """Show a sentence and its trees."""
    from treeviews.pipeline.inspect.aligned_rows import check_one_of_each, row_of
    from treeviews.pipeline.inspect.show import show_lines

    selection = _selected(path, stage, tell=True)
    check_one_of_each(selection.read_together)
    found = row_of(selection, selection.shared_numbers()[0] if shard is None else shard, row)
    return Result(found, show_lines(found))


def query(
    path: CorpusPath,
    sql: Annotated[str, typer.Argument(help="A query, such as SELECT count(*) FROM corpus.")],
    rows: Annotated[int, typer.Option("-n", min=1, help="Number of rows shown.")] = 50,
    stage: Stages = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print all rows as CSV.")] = False,
) -> Result | None:
    """Query the table `corpus` with SQL (needs DuckDB).

    It has one row per sentence and the columns of all stages.
    """
    from treeviews.pipeline.inspect.aligned_rows import ask, table_lines

    columns, answers = ask(_selected(path, stage, tell=True), sql)
    if as_csv:
        writer = csv.writer(sys.stdout)
        writer.writerow(columns)
        writer.writerows([_in_cell(value) for value in row] for row in answers)
        return None

    def lines() -> Iterator[str]:
        found = [*islice(answers, rows + 1)]
        yield from table_lines(columns, found[:rows])
        if len(found) > rows:
            say(f"the first {rows:,} rows; -n shows more, --csv and --json all")

    return Result((dict(zip(columns, row, strict=True)) for row in answers), lines())


def _in_cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def html(
    path: CorpusPath,
    out: Annotated[Path, typer.Option("--out", help="HTML file to write.")],
    where: Annotated[
        str | None, typer.Option(metavar="SQL", help="SQL condition that sentences must meet.")
    ] = None,
    rows: Annotated[
        int, typer.Option("-n", min=1, max=MOST_DRAWN, metavar="ROWS", help="Number of sentences.")
    ] = 10,
    stage: Stages = None,
) -> Result:
    """Draw the trees of sentences on an HTML page."""
    from treeviews.pipeline.inspect.aligned_rows import ask, check_one_of_each, first_rows, row_of
    from treeviews.pipeline.inspect.check import TREE_COLUMNS
    from treeviews.pipeline.inspect.show import write_page

    check_output(out)
    selection = _selected(path, stage, tell=True)
    check_one_of_each(selection.read_together)
    if not any(folder.stage in TREE_COLUMNS for folder in selection.folders):
        raise typer.BadParameter(f"{path}: no tree to draw; give the folder of a parsed corpus")
    if where is None:
        found = [*first_rows(selection, rows)]
    else:
        sql = f"SELECT shard, row FROM corpus WHERE ({where}\n) LIMIT {rows}"
        found = [row_of(selection, shard, row) for shard, row in ask(selection, sql)[1]]
    if not found:
        raise typer.BadParameter(f"{path}: no sentence {'is so' if where else 'is here'}")
    write_page(out, f"Sentences of {Path(path).absolute().name}", found)
    facts = {"path": str(out), "sentences": [[r["shard"], r["row"]] for r in found]}
    return Result(facts, [f"{len(found):,} sentences", str(out)])


def diff(
    first: Annotated[str, typer.Argument(metavar="A", help="A corpus or the folder of a parse.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another, of the same sentences.")],
    rows: Annotated[
        int, typer.Option("-n", min=0, max=1_000, metavar="ROWS", help="Number of sentences.")
    ] = 5,
) -> Result:
    """Compare two parses of the same sentences.

    Prints scores and the sentences that differ most. To compare two parses of a kind within a
    corpus, give the corpus twice.
    """
    from treeviews.pipeline.inspect.diff import agreement_lines, compare

    agreements = compare(_selected(first), _selected(second), most=rows)
    return Result(agreements, chain.from_iterable(map(agreement_lines, agreements)))


def schema(path: CorpusPath) -> Result:
    """Show the type, meaning and values of each column."""
    from treeviews.pipeline.inspect.show import schema_lines, schema_of

    selection = _selected(path)
    return Result(schema_of(selection), schema_lines(selection))


def check(
    path: CorpusPath,
    max_faults: Annotated[int, typer.Option(min=0, help="Number of faults shown.")] = 20,
) -> Result:
    """Check files, rows and trees; exit with 1 if any is wrong."""
    from treeviews.pipeline.inspect.check import faults_of, notes_of

    selection = _selected(path)
    faults, notes = [*faults_of(selection)], [*notes_of(selection)]
    lines = [str(fault) for fault in faults[:max_faults]]
    if len(faults) > max_faults:
        lines.append(f"and {len(faults) - max_faults:,} more")
    folders = ", ".join(str(folder.path) for folder in selection.folders)
    wrong = "1 fault" if len(faults) == 1 else f"{len(faults):,} faults"
    lines += [*notes, wrong if faults else f"all is right: {folders}"]
    facts = {"right": not faults, "faults": [*map(asdict, faults)], "notes": notes}
    return Result(facts, lines, FAILED if faults else DONE)


def export(
    path: CorpusPath,
    out: Annotated[
        Path, typer.Option("--out", help="New file; for spacy without .spacy, a new folder.")
    ],
    form: Annotated[
        Literal["conllu", "brackets", "json", "spacy"] | None,
        typer.Option("--format", help="Default: by the suffix of --out."),
    ] = None,
    from_source: Annotated[
        bool,
        typer.Option(
            "--from-source",
            help="Read the source again and export its text and character offsets.",
        ),
    ] = False,
    stage: Stages = None,
) -> Result:
    """Export trees as CoNLL-U, brackets, JSON lines or DocBins."""
    from treeviews.pipeline.inspect.tree_export import export as written
    from treeviews.pipeline.inspect.tree_export import export_format

    form = form or export_format(out)
    if form != "spacy" or not out.is_dir():
        check_output(out)
    done = written(_selected(path, stage, tell=True), out, form, from_source=from_source)
    counts = ", ".join(f"{done[name]:,} {name}" for name in ("sentences", "tokens", "refused"))
    if from_source and (unplaced := done["sentences"] + done["refused"] - done["placed"]):
        counts += f", {unplaced:,} without a place in the source (cleaned, or half a character)"
    lines = [f"{counts}, {done['bytes']:,} bytes, {done['seconds']:.1f} s", done["path"]]
    return Result(done, lines)


COMMANDS: tuple[Callable[..., Result | None], ...] = (
    overview,
    schema,
    show,
    query,
    html,
    diff,
    check,
    export,
)


class PathFirst(typer.core.TyperGroup):
    """Takes ``PATH`` alone for its overview."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Puts ``overview`` before a path that no subcommand stands before."""
        is_alone = len(args) < 2 or args[1].startswith("-")  # nothing but options follows
        if is_alone and args and args[0] not in self.commands and not args[0].startswith("-"):
            args = ["overview", *args]
        return super().parse_args(ctx, args)
