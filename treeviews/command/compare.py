"""``treeviews compare``: two encoders by their results on the same items."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from treeviews.command.output import AsJson, print_json

_FOLDERS = "Folder of task results; those of several seeds joined by commas."


def add_to(app: typer.Typer) -> None:
    """Adds the subcommand."""
    app.command("compare")(compare)


def compare(
    first: Annotated[str, typer.Argument(metavar="A", help=_FOLDERS)],
    second: Annotated[str, typer.Argument(metavar="B", help=_FOLDERS)],
    test: Annotated[
        Literal["permutation", "bootstrap"], typer.Option(help="Of the differences.")
    ] = "permutation",
    correction: Annotated[Literal["holm", "none"], typer.Option(help="Over tasks.")] = "holm",
    tasks: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Comma separated; by default all.")
    ] = None,
    resamples: Annotated[int | None, typer.Option(help="How often items are drawn.")] = None,
    confidence: Annotated[float | None, typer.Option(help="Of intervals; 0.95.")] = None,
    seed: Annotated[int, typer.Option(help="Of the resampling.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Compare two encoders: compare results/one results/other."""
    from treeviews.models.evaluation.comparison import ComparisonConfig, compare_folders
    from treeviews.models.evaluation.resampling import Resampling
    from treeviews.models.report.evaluation_table import comparison_table
    from treeviews.pipeline.base.settings import to_json

    asked = {"num_resamples": resamples, "confidence": confidence, "seed": seed}
    resampling = Resampling.from_dict({name: v for name, v in asked.items() if v is not None})
    found = compare_folders(
        [Path(folder) for folder in first.split(",")],
        [Path(folder) for folder in second.split(",")],
        ComparisonConfig(test=test, correction=correction, resampling=resampling),
        None if tasks is None else [name.strip() for name in tasks.split(",")],
    )
    if as_json:
        print_json({"format": "treeviews comparison", "format_version": 1, **to_json(found)})
    else:
        print(comparison_table(found))
