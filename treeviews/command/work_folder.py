"""``treeviews list`` and ``diff``: what stands in a work folder, and how two of it differ."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from treeviews.command.console import Result

_DEFAULT = Path("data/work")
_WorkFolder = Annotated[Path, typer.Option(help="Folder with everything that runs make.")]
_Compared = Annotated[
    str, typer.Argument(help="A folder, a name from `treeviews list`, or a bundled model.")
]


def list_folder(work_folder: _WorkFolder = _DEFAULT) -> Result:
    """List the artefacts of a work folder and the bundled models."""
    from dataclasses import asdict

    from treeviews.models.listing import listed, shipped, size_in_words
    from treeviews.models.report.sections import markdown_table

    is_there = work_folder.is_dir() or work_folder != _DEFAULT
    found = [*shipped(), *(listed(work_folder) if is_there else [])]
    rows = [
        (
            one.kind,
            one.name,
            one.about,
            one.text,
            f"{datetime.fromtimestamp(one.made):%Y-%m-%d %H:%M}" if one.made else "",
            one.score,
            size_in_words(one.num_bytes),
        )
        for one in found
    ]
    heads = ("kind", "name", "what", "from the text", "made", "main score", "size")
    return Result([asdict(one) for one in found], [markdown_table(heads, rows, num_text_columns=6)])


def diff(
    first: _Compared,
    second: _Compared,
    work_folder: _WorkFolder = _DEFAULT,
) -> Result:
    """Show how the settings and scores of two artefacts differ."""
    from treeviews.models.listing import difference
    from treeviews.models.report.sections import markdown_table

    parts = difference(first, second, work_folder)
    lines = []
    for title, pairs in parts.items():
        rows = [(name, *map(_cell, pair)) for name, pair in pairs.items()]
        table = markdown_table((title, first, second), rows)
        lines += [table if rows else f"{title}: no difference", ""]
    return Result(parts, lines)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else str(value)
