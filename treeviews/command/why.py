"""``treeviews why``: for each stage that would run, what changed."""

from __future__ import annotations

from typing import Annotated

import typer

from treeviews.command.output import AsJson, print_json
from treeviews.command.status import LIKE_RUN, stage_and_arguments


def add_to(app: typer.Typer) -> None:
    """Adds the subcommand."""
    app.command("why", context_settings=LIKE_RUN)(why)


def why(
    context: typer.Context,
    all_stages: Annotated[
        bool, typer.Option("--all", help="Name the stages, too, that are done.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say why stages would run: why [STAGE] with the parameters of `treeviews run`."""
    from tasks.command_line import asked
    from tasks.runs.why.reasons import reasons_of
    from tasks.runs.why.reasons_text import reasons_facts, reasons_lines

    with asked(*stage_and_arguments(context)) as root:
        stages, reasons = reasons_of(root)
    if as_json:
        print_json(reasons_facts(stages, reasons, with_done=all_stages))
    else:
        print(*reasons_lines(stages, reasons, with_done=all_stages), sep="\n")
