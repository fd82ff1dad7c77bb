"""``treeviews run`` and ``status``: a stage with all that it needs, made or looked at."""

from __future__ import annotations

from itertools import takewhile

import typer

from treeviews.command.output import Result

DEFAULT_STAGE = "RunAll"


def run(context: typer.Context) -> int:
    """Run the pipeline, or a stage of it by name: run TrainEncoders --views DEP.

    Its parameters are Luigi's; `treeviews run STAGE --help` lists them.
    """
    stages, options = words_and_options(context)
    return run_with_help(stages[0] if stages else "", [*stages[1:], *options])


def run_with_help(stage: str, arguments: list[str]) -> int:
    """Runs a stage, the default one where none is named, or prints the help that is asked for."""
    from treeviews.tasks.command_line import parameters_help, run_stage, stages_help

    if {"-h", "--help"} & set(arguments):
        print(parameters_help(stage, arguments) if stage else stages_help())
        return 0
    return run_stage(stage or DEFAULT_STAGE, arguments)


def status(context: typer.Context) -> Result:
    """Show what of a run is there: status [STAGE] with the parameters of `treeviews run`."""
    from dataclasses import asdict

    from treeviews.tasks.command_line import asked
    from treeviews.tasks.target_status import status_lines, status_of

    stages, options = words_and_options(context)
    with asked([*(stages or [DEFAULT_STAGE]), *options]) as root:
        found = status_of(root)
    return Result([asdict(stage) for stage in found], status_lines(found))


def words_and_options(context: typer.Context) -> tuple[list[str], list[str]]:
    """Returns the words before the first option, and what follows."""
    words = list(takewhile(lambda word: not word.startswith("-"), context.args))
    return words, context.args[len(words) :]
