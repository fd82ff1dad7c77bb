"""``inspect schema``, ``stats``, ``check``: what there is, how much, and whether it is right."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from pipeline.base.mistakes import DONE, FAILED
from treeviews.command.inspect.arguments import CorpusPath, print_lines, selected
from treeviews.command.output import AsJson, print_json


def schema(path: CorpusPath, as_json: AsJson = False) -> None:
    """Show the columns of each stage: type, meaning, values, and the bytes that they take."""
    from pipeline.inspect.columns import schema_dicts, schema_lines

    selection = selected(path)
    if as_json:
        print_json(schema_dicts(selection))
        return
    print_lines(schema_lines(selection))


def stats(path: CorpusPath, as_json: AsJson = False) -> None:
    """Show rows, lengths, labels, what was refused, speed."""
    from pipeline.inspect.stats import stats_lines, stats_of

    if as_json:
        print_json([*stats_of(selected(path))])
        return
    print_lines(stats_lines(selected(path)))


def check(
    path: CorpusPath,
    max_faults: Annotated[int, typer.Option(min=0, help="How many are shown.")] = 20,
    as_json: AsJson = False,
) -> int:
    """Say whether files, rows and trees are right; exits 1 if not."""
    from pipeline.inspect.check import faults_of, notes_of

    selection = selected(path)
    faults = list(faults_of(selection))
    code = FAILED if faults else DONE
    if as_json:
        shown = [asdict(fault) for fault in faults]
        print_json({"right": not faults, "faults": shown, "notes": [*notes_of(selection)]})
        return code
    print_lines(map(str, faults[:max_faults]), keep_lines=False)
    if len(faults) > max_faults:
        print(f"and {len(faults) - max_faults:,} more")
    print_lines(notes_of(selection), keep_lines=False)
    folders = ", ".join(str(folder.path) for folder in selection.folders)
    wrong = "1 fault" if len(faults) == 1 else f"{len(faults):,} faults"
    print_lines([wrong if faults else f"all is right: {folders}"], keep_lines=False)
    return code
