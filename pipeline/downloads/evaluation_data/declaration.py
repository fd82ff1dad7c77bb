"""What a declaration of SentEval's data says: what is downloaded and which files it makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pipeline.base.digest import digest_of

RECIPE_VERSION = 1
"""Raised when a step below would make other bytes from the same download."""

Step = Callable[[bytes], bytes]


@dataclass(frozen=True, slots=True)
class Download:
    """One file that is fetched."""

    name: str
    """Under which it is kept, and asked for at a mirror; unique."""
    addresses: tuple[str, ...]
    """Where the same bytes are to be had; tried in order."""
    sha256: str | None = None
    """None: nobody has published it, and the files made of it are checked instead."""
    num_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file of SentEval's ``data`` folder."""

    path: str
    num_lines: int | None = None
    """In SentEval's file or as its authors count them; None where neither is known."""
    sha256: str | None = None
    """Of the file that SentEval's own script makes, where it is known."""


@dataclass(frozen=True, slots=True)
class Making:
    """How one file is made of a download."""

    path: str
    download: Download
    member: str = ""
    """The archive's member, or the end of its path; empty: the download is no archive."""
    steps: tuple[Step, ...] = ()
    own_tokens: bool = False
    """Whether a step tokenizes otherwise than SentEval, so that the bytes differ from its own."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to make all files of a set."""

    name: str
    makings: tuple[Making, ...]


@dataclass(frozen=True, slots=True)
class Dataset:
    """One set: its files and the ways to get them, the most trustworthy first."""

    name: str
    licence: str
    files: tuple[DataFile, ...]
    ways: tuple[Way, ...]


def digest_of_declaration(datasets: tuple[Dataset, ...]) -> str:
    """Returns one digest over what determines these sets' files."""
    described = [
        {
            "name": dataset.name,
            "files": [[file.path, file.num_lines, file.sha256] for file in dataset.files],
            "ways": [[way.name, *map(_describe, way.makings)] for way in dataset.ways],
            "recipe_version": RECIPE_VERSION,
        }
        for dataset in datasets
    ]
    return digest_of({"datasets": described})


def _describe(making: Making) -> list[Any]:
    steps = [step.__name__ for step in making.steps]
    return [making.path, making.download.name, making.download.sha256, making.member, steps]
