"""``treeviews run`` and ``status``: a stage with all that it needs, made or looked at."""

from __future__ import annotations

import typer

from treeviews.command.output import AsJson, print_json

DEFAULT_STAGE = "RunAll"


def add_to(app: typer.Typer) -> None:
    """Adds both subcommands."""
    free = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command(
        "run",
        add_help_option=False,
        context_settings={
            **free,
            "allow_interspersed_args": False,
            "help_option_names": [],
        },
    )(run)
    app.command("status", context_settings=free)(status)


def run(context: typer.Context) -> int:
    """Run the pipeline, or a stage of it by name: run TrainEncoders --views DEP.

    Its parameters are Luigi's; `treeviews run STAGE --help` lists them.
    """
    stage, arguments = stage_and_arguments(context)
    if {"-h", "--help"} & set(arguments):
        return _print_help(stage if stage in context.args else None)
    from treeviews.tasks.command_line import run_stage

    return run_stage(stage, arguments)


def status(context: typer.Context, as_json: AsJson = False) -> None:
    """Show what of a run is there: status [STAGE] with the parameters of `treeviews run`."""
    from dataclasses import asdict

    from treeviews.tasks.command_line import asked
    from treeviews.tasks.target_status import status_lines, status_of

    stage, arguments = stage_and_arguments(context)
    with asked([stage, *arguments]) as root:
        found = status_of(root)
    if as_json:
        print_json([asdict(stage) for stage in found])
    else:
        print(*status_lines(found), sep="\n")


def stage_and_arguments(context: typer.Context) -> tuple[str, list[str]]:
    """Returns the stage that is named, or the default one, and the parameters."""
    arguments = list(context.args)
    named = bool(arguments) and not arguments[0].startswith("-")
    return (arguments.pop(0) if named else DEFAULT_STAGE), arguments


def _print_help(stage: str | None) -> int:
    """Prints the stages, or the parameters of one."""
    from treeviews.tasks.command_line import check_stage, parameters_help, stages_help

    if stage is None:
        print(stages_help())
        return 0
    check_stage(stage)
    print(parameters_help(stage))
    return 0
