"""``treeviews data``: downloads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treeviews.pipeline.base.mistakes import DONE


def add_to(app: typer.Typer) -> None:
    """Adds the subcommand with its own ones."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Data of others.")
    downloads = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Download data.")
    downloads.callback()(_downloads)
    downloads.command("senteval")(senteval)
    downloads.command("vectors")(vectors)
    group.add_typer(downloads, name="download")
    app.add_typer(group, name="data")


def _downloads() -> None:
    """Download data: data download senteval, data download vectors glove-840b."""


def senteval(
    sets: Annotated[
        list[str] | None, typer.Argument(help="Names, such as MR SST2; by default all.")
    ] = None,
    mirror: Annotated[
        str, typer.Option(help="Address under which all downloads stand by their names.")
    ] = "",
    accept_unverified: Annotated[
        bool,
        typer.Option("--accept-unverified", help="Take sets whose sha256 nobody has published."),
    ] = False,
    allow_absent: Annotated[
        bool, typer.Option("--allow-absent", help="Succeed although sets are absent.")
    ] = False,
    work_folder: Annotated[
        Path, typer.Option(help="Folder that holds everything a run makes.")
    ] = Path("data/work"),
) -> int:
    """Download SentEval's data; the last line printed is the folder for evaluate --data."""
    from treeviews.tasks.command_line import run_stage

    arguments = ["--datasets", ",".join(sets or ["all"]), "--work-folder", str(work_folder)]
    arguments += ["--mirror", mirror] if mirror else []
    arguments += ["--accept-unverified"] if accept_unverified else []
    arguments += ["--allow-absent"] if allow_absent else []
    return run_stage("DownloadSentEval", arguments)


def vectors(
    name: Annotated[
        str | None, typer.Argument(help="Such as glove-840b; without one, all are listed.")
    ] = None,
    sha256: Annotated[
        str, typer.Option(help="The file's sha256, where none is declared or it was changed.")
    ] = "",
    mirror: Annotated[
        str, typer.Option(help="Address under which the archive stands by its name.")
    ] = "",
    accept_unverified: Annotated[
        bool,
        typer.Option("--accept-unverified", help="Take a file whose sha256 nobody has published."),
    ] = False,
    work_folder: Annotated[
        Path, typer.Option(help="Folder that holds everything a run makes.")
    ] = Path("data/work"),
) -> int:
    """Download published word vectors; the last line printed is the folder of the archive."""
    from treeviews.pipeline.downloads.published_vectors import PUBLISHED_VECTORS, vectors_named

    if name is None:
        from treeviews.models.report.sections import markdown_table

        rows = [
            (one.name, one.about, one.licence, "yes" if one.sha256 else "no", one.url)
            for one in PUBLISHED_VECTORS
        ]
        print(
            markdown_table(
                ("name", "what", "licence", "sha256", "address"), rows, num_text_columns=5
            )
        )
        return DONE
    vectors_named(name)
    from treeviews.tasks.command_line import run_stage

    arguments = ["--name", name, "--work-folder", str(work_folder)]
    arguments += ["--sha256", sha256] if sha256 else []
    arguments += ["--mirror", mirror] if mirror else []
    arguments += ["--accept-unverified"] if accept_unverified else []
    return run_stage("DownloadVectors", arguments)
