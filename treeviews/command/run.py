"""``treeviews run``: a stage of the pipeline with all that it needs."""

from __future__ import annotations

import typer

DEFAULT_STAGE = "RunAll"


def add_to(app: typer.Typer) -> None:
    """Adds the subcommand."""
    app.command(
        "run",
        add_help_option=False,
        context_settings={
            "allow_extra_args": True,
            "ignore_unknown_options": True,
            "allow_interspersed_args": False,
            "help_option_names": [],
        },
    )(run)


def run(context: typer.Context) -> int:
    """Run the pipeline, or a stage of it by name: run TrainEncoders --views DEP.

    Its parameters are Luigi's; `treeviews run STAGE --help` lists them.
    """
    stage, arguments = stage_and_arguments(context)
    if {"-h", "--help"} & set(arguments):
        return _print_help(stage if stage in context.args else None)
    from treeviews.tasks.command_line import run_stage

    return run_stage(stage, arguments)


def stage_and_arguments(context: typer.Context) -> tuple[str, list[str]]:
    """Returns the stage that is named, or the default one, and the parameters."""
    arguments = list(context.args)
    named = bool(arguments) and not arguments[0].startswith("-")
    return (arguments.pop(0) if named else DEFAULT_STAGE), arguments


def _print_help(stage: str | None) -> int:
    """Prints the stages, or the parameters of one."""
    from treeviews.tasks.command_line import check_stage
    from treeviews.tasks.stage_help import parameters_help, stages_help

    if stage is None:
        print(stages_help())
        return 0
    check_stage(stage)
    print(parameters_help(stage))
    return 0
