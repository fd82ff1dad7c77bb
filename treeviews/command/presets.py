"""``treeviews presets``: the trainings known by name."""

from __future__ import annotations

from typing import Annotated

import typer

from treeviews.command.output import AsJson, print_json


def add_to(app: typer.Typer) -> None:
    """Adds the subcommand."""
    app.command("presets")(presets)


def presets(
    word_size: Annotated[int, typer.Option(min=1, help="Width of the word vectors.")] = 300,
    as_json: AsJson = False,
) -> None:
    """List the trainings known by name, with their views and what they train."""
    from treeviews.models.report.presets_table import presets_facts, presets_table

    if as_json:
        print_json(presets_facts(word_size))
    else:
        print(presets_table(word_size))
