"""The kinds of sources: how one is opened by its name, and again in another process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.sources.files import TextFiles
from pipeline.sources.opened_file import FilesConfig
from pipeline.sources.python_docs import PythonDocs
from pipeline.sources.streams import Source

_SOURCES: dict[str, Callable[[Mapping[str, Any]], Source]] = {
    "files": TextFiles.from_dict,
    "python-docs": PythonDocs,
}


@dataclass(frozen=True, slots=True)
class Declaration:
    """What is known of a corpus that comes as files."""

    given_by: tuple[str, ...]
    """What says where it is: its files' paths, the address of one, the name of a data set."""
    fixed: Mapping[str, str]
    """Settings of `FilesConfig` that its layout determines."""


DECLARED: Mapping[str, Declaration] = {
    "files": Declaration(("paths",), {}),
    "url": Declaration(("url",), {}),
    # Han et al. 2013: umbc_corpus.tar.gz, of which webbase_all/*.txt have a paragraph a line with
    # blank lines between them; *.possf2 are copies with tags, and not named like text.
    "umbc": Declaration(("paths", "url"), {"paragraphs": "line"}),
    # McAuley et al. 2015: reviews_Books_5.json.gz, a review a line.
    "amazon-books": Declaration(
        ("paths", "url"), {"format": "json-lines", "text_field": "reviewText"}
    ),
    # Zhu et al. 2015: a file a book; as it was released, two files with a sentence a line.
    "bookcorpus": Declaration(("paths", "url"), {"format": "text"}),
    "hf": Declaration(("dataset",), {"format": "json-lines"}),
}
"""Name of a source -> what is known of it."""


def config_of(name: str, given: Mapping[str, str | None]) -> FilesConfig:
    """Returns how the files of a declared source are read.

    Args:
        name: of the source.
        given: settings of `FilesConfig` that the user gave; None where not.

    Raises:
        ValueError: a setting that the source's layout contradicts; or of another type.
    """
    declared = DECLARED[name]
    settings = {setting: value for setting, value in given.items() if value is not None}
    for setting, value in declared.fixed.items():
        if settings.setdefault(setting, value) != value:
            raise ValueError(
                f"source is {name!r}, of which {setting} is {value!r}, and {setting} is "
                f"{settings[setting]!r}: leave it out, or give --source files"
            )
    return FilesConfig.from_dict(settings)


def source_of(name: str, paths: Sequence[str], given: Mapping[str, str | None]) -> Source:
    """Returns a source.

    Args:
        name: of `DECLARED`, or python-docs.
        paths: of its files, where it has some.
        given: as in `config_of`.

    Raises:
        FileNotFoundError: a path that does not exist.
        ValueError: as `config_of` and `TextFiles`.
    """
    if name == "python-docs":
        return PythonDocs()
    return TextFiles(paths, config_of(name, given))


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
