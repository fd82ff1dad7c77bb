"""``treeviews status``: what of a run is there, and what the same command would make."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from treeviews.command.output import AsJson, print_json, terminal_width
from treeviews.command.run import DEFAULT_STAGE

LIKE_RUN: dict[str, Any] = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
}
"""Settings of a subcommand that takes the command line of ``treeviews run``."""


def add_to(app: typer.Typer) -> None:
    """Adds the subcommand."""
    app.command("status", context_settings=LIKE_RUN)(status)


def status(
    context: typer.Context,
    all_stages: Annotated[
        bool, typer.Option("--all", help="Give each stage a line, however many are alike.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what of a run is there: status [STAGE] with the parameters of `treeviews run`."""
    from tasks.command_line import asked
    from tasks.runs.status import status_lines, status_of

    with asked(*stage_and_arguments(context)) as root:
        found = status_of(root)
    if as_json:
        print_json(found.to_dict())
    else:
        print(*status_lines(found, terminal_width(), each=all_stages), sep="\n")


def stage_and_arguments(context: typer.Context) -> tuple[str, list[str]]:
    """Returns the stage that is named, or the default one, and the parameters."""
    arguments = list(context.args)
    named = bool(arguments) and not arguments[0].startswith("-")
    return (arguments.pop(0) if named else DEFAULT_STAGE), arguments
