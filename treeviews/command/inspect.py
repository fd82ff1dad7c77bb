"""``treeviews inspect``: a corpus' rows, trees and counts, and whether all of it is right."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from treeviews.command.output import AsJson, check_output, print_json, say
from treeviews.pipeline.base.foreign_text import printable
from treeviews.pipeline.base.mistakes import DONE, FAILED

if TYPE_CHECKING:
    from treeviews.pipeline.inspect.dataset import Selection

MOST_DRAWN = 1_000
"""Sentences on one page; more are slow to open."""

CorpusPath = Annotated[
    str,
    typer.Argument(
        metavar="PATH",
        help="A corpus folder (with sentences/ in it), a stage's folder, or one shard's .parquet.",
    ),
]
NumRows = Annotated[int, typer.Option("-n", min=0, metavar="ROWS", help="How many.")]
Stages = Annotated[
    list[str] | None,
    typer.Option(
        "--stage",
        metavar="FOLDER",
        help="Where there are several parses of a kind: the name of the one to read, or how it "
        "begins. May be given twice.",
    ),
]


def _selected(path: str, stages: Iterable[str] | None = None, *, tell: bool = False) -> Selection:
    """Returns the stages at a path; tells what they lack on standard error where that is wanted."""
    from treeviews.pipeline.inspect.dataset import select

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


def _print_lines(lines: Iterable[str], *, keep_lines: bool = True) -> None:
    """Prints lines in which no character is hidden; they may have line ends of their own."""
    for line in lines:
        print(printable(line, keep_lines=keep_lines))


def overview(path: CorpusPath, rows: NumRows = 10, as_json: AsJson = False) -> None:
    """Show counts, what was refused and how fast it went, then the first sentences."""
    from treeviews.pipeline.inspect.aligned_rows import first_rows
    from treeviews.pipeline.inspect.show import overview_lines, sentence_line, stage_facts

    selection = _selected(path)
    if as_json:
        print_json({"stages": [*stage_facts(selection)], "rows": [*first_rows(selection, rows)]})
        return
    _print_lines(overview_lines(selection))
    _print_lines(map(sentence_line, first_rows(selection, rows)))


def show(
    path: CorpusPath,
    shard: Annotated[int | None, typer.Option(help="By default the first.")] = None,
    row: Annotated[int, typer.Option(help="Its number in the shard, from 0.")] = 0,
    stage: Stages = None,
    as_json: AsJson = False,
) -> None:
    """Show one sentence with its trees drawn."""
    from treeviews.pipeline.inspect.aligned_rows import row_of
    from treeviews.pipeline.inspect.show import show_lines

    selection = _selected(path, stage, tell=True)
    selection.check_one_of_each()
    found = row_of(selection, selection.shared_numbers()[0] if shard is None else shard, row)
    print_json(found) if as_json else _print_lines(show_lines(found))


def query(
    path: CorpusPath,
    sql: Annotated[str, typer.Argument(help="Such as SELECT count(*) FROM corpus.")],
    rows: Annotated[int, typer.Option("-n", min=1, help="Rows of the table that is shown.")] = 50,
    stage: Stages = None,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print all rows as CSV.")] = False,
) -> None:
    """Ask all stages as one table, corpus, by SQL: a row a sentence, all columns side by side."""
    from treeviews.pipeline.inspect.aligned_rows import ask, table_lines

    answer = ask(_selected(path, stage, tell=True), sql)
    if as_csv:
        writer = csv.writer(sys.stdout)
        writer.writerow(answer.columns)
        writer.writerows([_in_cell(value) for value in row] for row in answer.rows)
    elif as_json:
        print_json([dict(zip(answer.columns, row, strict=True)) for row in answer.rows])
    else:
        found = [*islice(answer.rows, rows + 1)]
        _print_lines(table_lines(answer.columns, found[:rows]))
        if len(found) > rows:
            say(f"the first {rows:,} rows; -n shows more, --csv and --json all")


def _in_cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def html(
    path: CorpusPath,
    out: Annotated[Path, typer.Option("--out", help="The page's file, such as trees.html.")],
    at: Annotated[
        list[str] | None,
        typer.Option(metavar="SHARD:ROW", help="These sentences. May be given more than once."),
    ] = None,
    where: Annotated[
        str | None, typer.Option(metavar="SQL", help="The first that this is true of; see query.")
    ] = None,
    rows: Annotated[
        int, typer.Option("-n", min=1, max=MOST_DRAWN, metavar="ROWS", help="How many.")
    ] = 10,
    stage: Stages = None,
    as_json: AsJson = False,
) -> None:
    """Draw sentences on one page: the first ones, those named by --at, or those of --where."""
    from treeviews.pipeline.inspect.aligned_rows import TREE_COLUMNS, first_rows, row_of
    from treeviews.pipeline.inspect.show import write_page

    check_output(out)
    selection = _selected(path, stage, tell=True)
    selection.check_one_of_each()
    if not any(folder.stage in TREE_COLUMNS for folder in selection.folders):
        raise typer.BadParameter(f"{path}: no tree to draw; give the folder of a parsed corpus")
    if at and where:
        raise typer.BadParameter("--at names the sentences: leave out --where, or --at")
    if at or where:
        places = map(_place, at) if at else _places_where(selection, where or "", rows)
        found = [row_of(selection, shard, row) for shard, row in places]
    else:
        found = [*first_rows(selection, rows)]
    if not found:
        raise typer.BadParameter(f"{path}: no sentence {'is so' if where else 'is here'}")
    write_page(out, f"Sentences of {Path(path).absolute().name}", found)
    if as_json:
        print_json({"path": str(out), "sentences": [[r["shard"], r["row"]] for r in found]})
        return
    _print_lines([f"{len(found):,} sentences", str(out)])


def _place(text: str) -> tuple[int, int]:
    shard, _, row = text.partition(":")
    if not (shard.isdecimal() and row.isdecimal()):
        raise typer.BadParameter(f"{text!r} is no place; write SHARD:ROW, such as 0:7")
    return int(shard), int(row)


def _places_where(selection: Selection, where: str, most: int) -> Iterator[tuple[int, int]]:
    from treeviews.pipeline.inspect.aligned_rows import ask

    yield from ask(selection, f"SELECT shard, row FROM corpus WHERE ({where}\n) LIMIT {most}").rows


def diff(
    first: Annotated[str, typer.Argument(metavar="A", help="A corpus or a stage of trees.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another one, of the same sentences.")],
    rows: Annotated[
        int, typer.Option("-n", min=0, max=1_000, metavar="ROWS", help="Sentences shown.")
    ] = 5,
    as_json: AsJson = False,
) -> None:
    """Compare two parses of the same sentences: scores, and the sentences that differ most.

    A corpus with two parses of a kind can be given twice.
    """
    from treeviews.pipeline.inspect.diff import agreement_lines, compare, pairs_of_parses

    pairs = pairs_of_parses(_selected(first), _selected(second))
    found = [compare(*parses, most=rows) for parses in pairs]
    if as_json:
        print_json([asdict(one) for one in found])
        return
    for one in found:
        _print_lines(agreement_lines(one))


def schema(path: CorpusPath, as_json: AsJson = False) -> None:
    """Show the columns of each stage: type, meaning, values."""
    from treeviews.pipeline.inspect.show import schema_lines, schema_of

    selection = _selected(path)
    print_json([*schema_of(selection)]) if as_json else _print_lines(schema_lines(selection))


def check(
    path: CorpusPath,
    max_faults: Annotated[int, typer.Option(min=0, help="How many are shown.")] = 20,
    as_json: AsJson = False,
) -> int:
    """Say whether files, rows and trees are right; exits 1 if not."""
    from treeviews.pipeline.inspect.check import faults_of, notes_of

    selection = _selected(path)
    faults, notes = [*faults_of(selection)], [*notes_of(selection)]
    if as_json:
        print_json({"right": not faults, "faults": list(map(asdict, faults)), "notes": notes})
        return FAILED if faults else DONE
    lines = [*map(str, faults[:max_faults])]
    if len(faults) > max_faults:
        lines.append(f"and {len(faults) - max_faults:,} more")
    folders = ", ".join(str(folder.path) for folder in selection.folders)
    wrong = "1 fault" if len(faults) == 1 else f"{len(faults):,} faults"
    last = wrong if faults else f"all is right: {folders}"
    _print_lines([*lines, *notes, last], keep_lines=False)
    return FAILED if faults else DONE


def export(
    path: CorpusPath,
    out: Annotated[
        Path, typer.Option("--out", help="New file; of spacy without .spacy a folder of files.")
    ],
    form: Annotated[
        Literal["conllu", "brackets", "json", "spacy"] | None,
        typer.Option("--format", help="By default what --out ends in."),
    ] = None,
    from_source: Annotated[
        bool,
        typer.Option(
            "--from-source",
            help="Text and character offsets of the source, which is read again for them.",
        ),
    ] = False,
    stage: Stages = None,
    as_json: AsJson = False,
) -> None:
    """Write sentences and trees as CoNLL-U, brackets, JSON lines or spaCy's DocBin."""
    from treeviews.pipeline.inspect.tree_export import export as written
    from treeviews.pipeline.inspect.tree_export import export_format

    form = form or export_format(out)
    if form != "spacy" or out.suffix == ".spacy":
        check_output(out)
    done = written(_selected(path, stage, tell=True), out, form, from_source=from_source)
    if as_json:
        print_json(asdict(done))
        return
    counts = f"{done.sentences:,} sentences, {done.tokens:,} tokens, {done.refused:,} refused"
    if done.placed is not None and (unplaced := done.sentences + done.refused - done.placed):
        counts += f", {unplaced:,} without a place in the source (cleaned, or half a character)"
    _print_lines([f"{counts}, {done.bytes:,} bytes, {done.seconds:.1f} s", done.path])


COMMANDS: dict[str, Callable[..., Any]] = {
    command.__name__: command
    for command in (overview, schema, show, query, html, diff, check, export)
}


class _PathFirst(typer.core.TyperGroup):
    """Takes ``PATH`` alone for its overview."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        is_alone = len(args) < 2 or args[1].startswith("-")  # nothing but options follows
        if is_alone and args and args[0] not in COMMANDS and not args[0].startswith("-"):
            args = ["overview", *args]
        return super().parse_args(ctx, args)


def add_to(app: typer.Typer) -> None:
    """Adds the subcommand with its own ones."""
    group = typer.Typer(
        cls=_PathFirst,
        no_args_is_help=True,
        rich_markup_mode=None,
        help="Look at parsed shards: inspect PATH, or inspect COMMAND PATH.",
    )
    for name, command in COMMANDS.items():
        group.command(name)(command)
    app.add_typer(group, name="inspect")
