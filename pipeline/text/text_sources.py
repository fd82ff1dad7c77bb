"""The sources of text: each is declared once, in `SOURCES`; how one is opened by its name.

What parameters a source reads, which of them its layout fixes, the help of ``--source`` and the
refusals of parameters that contradict it are made from the declaration.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, count
from pathlib import Path
from typing import Any

from treeviews.pipeline.base.bundled import DATA
from treeviews.pipeline.base.foreign_text import told
from treeviews.pipeline.text.documents import (
    START,
    ChangedTextError,
    Document,
    Paragraph,
    Place,
    Source,
    Stream,
    places_apart,
)
from treeviews.pipeline.text.table_streams import CsvStream, TableStream
from treeviews.pipeline.text.text_files import SUFFIXES, FilesConfig, Format, TextFile, list_files
from treeviews.pipeline.text.text_streams import FileStream, TextStream

DEFAULT_TEXT = DATA / "text" / "python-docs.jsonl.gz"
"""The documentation of CPython 3.11: first a line of what it was made from, then one a document."""


@dataclass(frozen=True, slots=True)
class TextSource:
    """What is known of a source."""

    about: str
    """For the help of an option."""
    located_by: tuple[str, ...] = ()
    """Parameters that say where its text is, one of which must be given; none where it ships."""
    reads: tuple[str, ...] = ()
    """Other parameters that concern it."""
    fixed: Mapping[str, str] = field(default_factory=dict)
    """Settings of `FilesConfig` that its layout determines."""


_TABLE_SETTINGS = ("paragraphs", "text_format", "text_field")
_FILE_SETTINGS = ("encoding", *_TABLE_SETTINGS)
SOURCES: Mapping[str, TextSource] = {
    "python-docs": TextSource("the bundled documentation of Python (data/text/card.md)"),
    "files": TextSource("your own text (--paths)", ("paths",), _FILE_SETTINGS),
    "url": TextSource("a download (--url)", ("url",), ("sha256", *_FILE_SETTINGS)),
    "umbc": TextSource(
        "umbc_corpus.tar.gz (Han et al. 2013), your copy or a download",
        ("paths", "url"),
        ("sha256", *_FILE_SETTINGS),
        # webbase_all/*.txt have a paragraph a line; *.possf2 are copies with tags.
        {"paragraphs": "line"},
    ),
    "amazon-books": TextSource(
        "reviews_Books_5.json.gz (McAuley et al. 2015), one review per line",
        ("paths", "url"),
        ("sha256", *_FILE_SETTINGS),
        {"format": "json-lines", "text_field": "reviewText"},
    ),
    "bookcorpus": TextSource(
        "BookCorpus (Zhu et al. 2015), one file per book or two files of sentences",
        ("paths", "url"),
        ("sha256", "encoding", "paragraphs", "text_format"),
        {"format": "text"},
    ),
    "hf": TextSource(
        "a data set on a hub (--dataset)",
        ("dataset",),
        ("dataset_config", "dataset_split", "dataset_revision", *_TABLE_SETTINGS),
        {"format": "json-lines"},
    ),
}
"""Name -> what is known of it."""

_STREAMS: Mapping[Format, type[FileStream]] = {
    **dict.fromkeys(SUFFIXES, TextStream),
    **dict.fromkeys(("csv", "tsv"), CsvStream),
    **dict.fromkeys(("parquet", "arrow"), TableStream),
}


class TextFiles(Source):
    """Text files, folders and globs as a source.

    What `describe` announced is what the streams yield, or `check_unchanged` of one says so.

    Args:
        paths: what to read, in this order; see `list_files`.
        config: how.

    Raises:
        FileNotFoundError: a path that does not exist.
        ValueError: no path, a folder without text, or what is no regular file.
    """

    def __init__(self, paths: Sequence[str | Path], config: FilesConfig | None = None) -> None:
        self._config = config or FilesConfig()
        self._files, self._left_out = list_files(paths, self._config.format)
        self._streams: list[FileStream] = []

    @property
    def paths(self) -> list[Path]:
        """The files, in their order."""
        return [file.path for file in self._files]

    def describe(self) -> dict[str, Any]:
        """Returns a checksum of all names and contents, and how they are read.

        A file that cannot be read counts as such, and is refused when its turn comes. Every call
        tells of the contents that the first one found.
        """
        if not self._files[0].sha256:
            self._files = [file.as_it_is() for file in self._files]
        digest = hashlib.sha256()
        for file in self._files:
            digest.update(f"{file.name}\0{file.sha256}\0".encode())
        return {
            "source": "files",
            "num_files": len(self._files),
            "sha256": digest.hexdigest(),
            **self._config.to_dict(),
        }

    def left_out(self) -> Mapping[str, int]:
        """Returns how many files were met and left out, by reason.

        Those within archives are known as far as their streams were surveyed.
        """
        left_out = Counter(self._left_out)
        for stream in self._streams:
            left_out.update(stream.left_out)
        return dict(sorted(left_out.items()))

    def streams(self) -> Sequence[Stream]:
        """Returns the files."""
        config = self._config
        self._streams = [_STREAMS[config.format_of(f.path)](f, config) for f in self._files]
        return self._streams

    def to_dict(self) -> dict[str, Any]:
        """Returns the files, how they are read, and what `describe` found them to be."""
        self.describe()
        return {
            "source": "files",
            "config": self._config.to_dict(),
            "left_out": dict(self._left_out),
            "files": [file._asdict() | {"path": str(file.path)} for file in self._files],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TextFiles:
        """Returns the source that was made to this dictionary; no file is looked at."""
        source = cls.__new__(cls)
        source._config = FilesConfig.from_dict(values["config"])
        source._files = [TextFile(**f | {"path": Path(f["path"])}) for f in values["files"]]
        source._left_out, source._streams = Counter(values["left_out"]), []
        return source


class PythonDocs(Source, Stream):
    """The text that ships, as a source of one stream."""

    is_sought = True

    def __init__(self) -> None:
        self._origin, *self._documents = _default_text()

    def describe(self) -> dict[str, Any]:
        """Returns what it was made from: interpreter, version of the extraction, a checksum."""
        return dict(self._origin)

    def streams(self) -> Sequence[Stream]:
        """Returns itself."""
        return [self]

    def survey(self) -> Iterator[Place]:
        """Yields where documents begin, far enough apart; last, the end."""
        sizes = (document["num_bytes"] for document in self._documents)
        return places_apart(map(Place, accumulate(sizes), count(1)))

    def documents(self, begin: Place = START, end: Place | None = None) -> Iterator[Document]:
        """Yields topics of the language reference, then modules of the standard library."""
        for document in self._documents[begin.number : end and end.number]:
            paragraphs = (Paragraph(text, position) for text, position in document["paragraphs"])
            yield Document(document["name"], paragraphs)


@functools.cache
def _default_text() -> list[dict[str, Any]]:
    with gzip.open(DEFAULT_TEXT, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


LOCATIONS = tuple(dict.fromkeys(p for source in SOURCES.values() for p in source.located_by))
"""All parameters that say where a text is."""
PARAMETERS = tuple(dict.fromkeys(p for source in SOURCES.values() for p in source.reads))
"""All others that concern some sources only."""


def check_parameters(name: str, given: Mapping[str, Any]) -> None:
    """Refuses parameters that contradict a source, rather than ignoring them.

    Args:
        name: of the source.
        given: those of `LOCATIONS` and `PARAMETERS` that the user gave, and their values.

    Raises:
        ValueError: one of another source, or none that says where the text is; names the sources
            that have it.
    """
    known = SOURCES[name]
    for parameter, value in given.items():
        is_lone = parameter == "sha256" and "url" not in given
        if parameter not in (*known.located_by, *known.reads) or is_lone:
            others = [n for n, s in SOURCES.items() if parameter in (*s.located_by, *s.reads)]
            raise ValueError(
                f"{parameter} is {told(value)!r}, and source is {name!r}: leave "
                f"--{parameter.replace('_', '-')} out, or give --source {' or '.join(others)}"
            )
    if len(given.keys() & set(known.located_by)) != bool(known.located_by):
        places = {"url": "--url and --sha256 of a download", "paths": "--paths of your copy"}
        wanted = ", or ".join(places.get(p, f"--{p}") for p in known.located_by)
        either = "either " if len(known.located_by) > 1 else ""
        raise ValueError(f"source is {name!r}: give {either}{wanted}")


def config_of(name: str, given: Mapping[str, str | None]) -> FilesConfig:
    """Returns how the files of a source are read.

    Args:
        name: of the source.
        given: settings of `FilesConfig` that the user gave; None where not.

    Raises:
        ValueError: a setting that the source's layout contradicts; or of another type.
    """
    settings = {setting: value for setting, value in given.items() if value is not None}
    for setting, value in SOURCES[name].fixed.items():
        if settings.setdefault(setting, value) != value:
            raise ValueError(
                f"source is {name!r}, of which {setting} is {value!r}, and {setting} is "
                f"{settings[setting]!r}: leave it out, or give --source files"
            )
    return FilesConfig.from_dict(settings)


def source_of(name: str, paths: Sequence[str], given: Mapping[str, str | None]) -> Source:
    """Returns a source.

    Args:
        name: of `SOURCES`.
        paths: of its files, where it has some.
        given: as in `config_of`.

    Raises:
        FileNotFoundError: a path that does not exist.
        ValueError: as `config_of` and `TextFiles`.
    """
    return TextFiles(paths, config_of(name, given)) if SOURCES[name].located_by else PythonDocs()


def reopen(values: Mapping[str, Any]) -> Source:
    """Returns a source, given what its ``to_dict`` returned.

    Raises:
        ChangedTextError: the text that ships is another one here.
        ValueError: no source of this release.
    """
    if values.get("source") == "files":
        return TextFiles.from_dict(values)
    source = PythonDocs()
    if values != source.to_dict():
        raise ChangedTextError(
            f"source {values.get('source')!r}: not of this release, or another text; install the "
            "same release on all machines"
        )
    return source
