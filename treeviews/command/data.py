"""``treeviews data``: downloads, each by the stage of its name."""

from __future__ import annotations

import typer

from treeviews.command.run import run_with_help, words_and_options
from treeviews.pipeline.base.mistakes import DONE

SWITCHES = {"--accept-unverified", "--allow-absent"}
"""Options without a value, which may stand before the names of what is wanted."""


def senteval(context: typer.Context) -> int:
    """Download SentEval's data: data download senteval [SET ...].

    The last line printed is the folder for evaluate --data. Options are DownloadSentEval's.
    """
    context.args.sort(key=SWITCHES.__contains__)
    sets, options = words_and_options(context)
    datasets = ["--datasets", ",".join(sets)] if sets else []
    return run_with_help("DownloadSentEval", [*datasets, *options])


def vectors(context: typer.Context) -> int:
    """Download published word vectors by name, such as glove-840b; without one, list all.

    The last line printed is the folder of the archive. Options are DownloadVectors's.
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
