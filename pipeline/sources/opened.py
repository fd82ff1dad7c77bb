"""The kinds of sources, and how one is opened again in another process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pipeline.sources.files import TextFiles
from pipeline.sources.python_docs import PythonDocs
from pipeline.sources.streams import Source

_SOURCES: dict[str, Callable[[Mapping[str, Any]], Source]] = {
    "files": TextFiles.from_dict,
    "python-docs": PythonDocs,
}


def reopened(values: Mapping[str, Any]) -> Source:
    """Returns a source, given what its ``to_dict`` said.

    Raises:
        ValueError: no source of this release.
    """
    kind = values.get("source")
    if kind not in _SOURCES:
        raise ValueError(
            f"source {kind!r}: none of this release, which has {', '.join(_SOURCES)}; install "
            "the same release on all machines"
        )
    return _SOURCES[kind](values)
