"""``inspect export``: sentences and trees in the formats that others read."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from treeviews.command.inspect.arguments import CorpusPath, Stages, print_lines, say_gaps, selected
from treeviews.command.output import AsJson, check_output, print_json


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
    from pipeline.inspect.export import export as written
    from pipeline.inspect.export import export_format, summary_lines

    form = form or export_format(out)
    if form != "spacy" or out.suffix == ".spacy":
        check_output(out)
    selection = selected(path, stage)
    say_gaps(selection)
    done = written(selection, out, form, from_source=from_source)
    if as_json:
        print_json(asdict(done))
        return
    print_lines(summary_lines(done))
