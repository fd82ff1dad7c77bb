"""``treeviews run``, ``status``, ``data``: a stage with what it needs, made or looked at."""

from __future__ import annotations

from itertools import takewhile

import typer

from treeviews.command.console import Result
from treeviews.pipeline.base.mistakes import DONE

DEFAULT_STAGE = "RunAll"


def run(context: typer.Context) -> int:
    """Run the pipeline or one of its stages.

    `treeviews run STAGE --help` lists the parameters of a stage.
    """
    stages, options = words_and_options(context)
    return run_with_help(stages[0] if stages else "", [*stages[1:], *options])


def run_with_help(stage: str, arguments: list[str]) -> int:
    """Runs a stage, the default one where none is named, or prints the help that is asked for."""
    from treeviews.tasks.command_line import parameters_help, run_stage, stages_help

    if {"-h", "--help"} & set(arguments):
        print(parameters_help(stage, arguments) if stage else stages_help())
        return DONE
    return run_stage(stage or DEFAULT_STAGE, arguments)


def status(context: typer.Context) -> Result:
    """Show which stages of a run are done and which are missing.

    Takes the arguments of `treeviews run`, such as TrainEncoders --views DEP,SEQ.
    """
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


SWITCHES = {"--accept-unverified", "--allow-absent"}
"""Options without a value, which may stand before the names of what is wanted."""


def senteval(context: typer.Context) -> int:
    """Download SentEval's data, or only the named sets.

    The last line printed is the folder for evaluate --data. Takes the options of DownloadSentEval.
    """
    context.args.sort(key=SWITCHES.__contains__)
    sets, options = words_and_options(context)
    datasets = ["--datasets", ",".join(sets)] if sets else []
    return run_with_help("DownloadSentEval", [*datasets, *options])


def vectors(context: typer.Context) -> int:
    """Download published word vectors by name, or list the names.

    The last line printed is the folder of the archive. Takes the options of DownloadVectors.
    """
    context.args.sort(key=SWITCHES.__contains__)
    names, options = words_and_options(context)
    if names or options:
        named = ["--name", names[0]] if names else []
        return run_with_help("DownloadVectors", [*named, *options])
    from treeviews.models.report.sections import markdown_table
    from treeviews.pipeline.downloads.published_vectors import PUBLISHED_VECTORS

    rows = [
        (one.name, one.about, one.licence, "yes" if one.sha256 else "no", one.url)
        for one in PUBLISHED_VECTORS
    ]
    heads = ("name", "what", "licence", "sha256", "address")
    print(markdown_table(heads, rows, num_text_columns=5))
    return DONE
