"""``treeviews status``: what of a target is there, and what the same command would make."""

from __future__ import annotations

import typer

from treeviews.command.output import AsJson, print_json
from treeviews.command.run import stage_and_arguments


def add_to(app: typer.Typer) -> None:
    """Adds the subcommand."""
    settings = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command("status", context_settings=settings)(status)


def status(context: typer.Context, as_json: AsJson = False) -> None:
    """Show what of a run is there: status [STAGE] with the parameters of `treeviews run`."""
    from dataclasses import asdict

    from treeviews.tasks.command_line import asked
    from treeviews.tasks.status import status_lines, status_of

    stage, arguments = stage_and_arguments(context)
    with asked([stage, *arguments]) as root:
        found = status_of(root)
    if as_json:
        print_json([asdict(stage) for stage in found])
    else:
        print(*status_lines(found), sep="\n")
