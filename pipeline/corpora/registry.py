"""Opens a source by its name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pipeline.corpora.document import Source
from pipeline.corpora.files import FilesConfig, TextFiles
from pipeline.corpora.paragraphs import ParagraphMode
from pipeline.corpora.python_docs import PythonDocs

SOURCE_NAMES = ("python-docs", "files", "url")


def open_source(
    name: str,
    *,
    paths: Sequence[str | Path] = (),
    paragraphs: ParagraphMode = "blank-line",
    text_field: str = "text",
    encoding: str = "utf-8",
) -> Source:
    """Returns a source of documents.

    Args:
        name: ``python-docs``, ``files``, or ``url``, whose file has been downloaded to ``paths``.
        paths: files, folders and globs; for ``files`` and ``url``.
        paragraphs: what ends a paragraph: a ``blank-line``, or every ``line``.
        text_field: field of the text in JSON lines.
        encoding: of text files.

    Raises:
        ValueError: no such source, unknown settings, no paths, or a folder without text.
        FileNotFoundError: a path that does not exist.
    """
    if name == "python-docs":
        return PythonDocs()
    if name in {"files", "url"}:
        return TextFiles(paths, FilesConfig(paragraphs, text_field, encoding))
    raise ValueError(f"unknown source {name!r}; known: {', '.join(SOURCE_NAMES)}")
