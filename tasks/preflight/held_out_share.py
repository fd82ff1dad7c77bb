"""Which share of a text is held out, as far as its documents are known before a run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.config.held_out import HoldOut
from models.evaluation.derived.held_out.held_out_rows import held_out_positions
from pipeline.shards.manifests import read_dataset_manifest
from pipeline.shards.shards import read_shard
from pipeline.sources.file_list import is_compressed
from pipeline.sources.files import TextFiles
from pipeline.sources.text_file import LONGEST_PIECES, TextFileStream
from tasks.preflight.findings import Findings, as_stage
from tasks.preflight.places import opened_source
from tasks.sentences import SplitSentences

MOST_COMPRESSED = 4.0
"""How many bytes of text a byte of a compressed file or a table stands for, usually."""
MOST_FILES = 200_000
"""Files whose sizes are looked at."""
_MOST_ROWS = 300_000
"""Sentences whose documents are looked at; of more, the share is near what was asked for."""
_MOST_UNEVEN = 1.5
"""How many times more or less than asked for may be held out without a word."""


@dataclass(frozen=True, slots=True)
class HeldOutShare:
    """Which share of the text is held out."""

    share: float
    is_known: bool = False
    """Whether it follows from the documents; else it is what was asked for."""
    is_counted: bool = False
    """Whether it is of the sentences themselves."""


def held_out_share(root: Any, hold_out: HoldOut, most_bytes: float) -> HeldOutShare:
    """Returns which share of a run's text is held out: of its sentences where they are cut.

    Args:
        root: the task that was asked for.
        hold_out: what is held out.
        most_bytes: how many bytes of the text are taken.
    """
    counted = _of_sentences(as_stage(root, SplitSentences), hold_out)
    if counted is not None:
        return HeldOutShare(counted, is_known=True, is_counted=True)
    of_files = _of_files(opened_source(root), hold_out, most_bytes)
    if of_files is not None:
        return HeldOutShare(of_files, is_known=True)
    return HeldOutShare(hold_out.fraction)


def tell_of_uneven(share: HeldOutShare, hold_out: HoldOut, findings: Findings) -> None:
    """Warns where much more or less of the text is held out than was asked for."""
    asked = hold_out.fraction
    if asked / _MOST_UNEVEN <= share.share <= asked * _MOST_UNEVEN:
        return
    if hold_out.unit == "document":
        remedy = "give --held-out-unit block, another --held-out-seed, or more documents"
    else:
        remedy = "give another --held-out-seed, a smaller held_out_block_sentences, or more text"
    findings.warn(
        f"{'' if share.is_counted else 'some '}{_percent(share.share)} of the text is held out, "
        f"where --held-out-fraction asks for {_percent(asked)}, as the {hold_out.unit}s are few or "
        f"of uneven size; {remedy}"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _of_sentences(sentences: SplitSentences, hold_out: HoldOut) -> float | None:
    """Returns the share of the finished sentence shards; None where none are, or too many."""
    try:
        folder = sentences.folder
        manifest = read_dataset_manifest(folder)
        if not 0 < manifest.rows <= _MOST_ROWS:
            return None
        num_rows = num_held_out = 0
        for shard in manifest.shards:
            columns = ("document_id", "sentence_index")
            table = read_shard(folder, "sentences", shard.number, columns)
            num_rows += table.num_rows
            num_held_out += len(held_out_positions(table, hold_out))
    except (OSError, ValueError):  # told by another check, or by its run
        return None
    return num_held_out / num_rows if num_rows == manifest.rows else None


def _of_files(source: object, hold_out: HoldOut, most_bytes: float) -> float | None:
    """Returns the share of the bytes of plain text files; None where names and sizes say less."""
    if hold_out.unit != "document" or not isinstance(source, TextFiles):
        return None
    if len(source.paths) > MOST_FILES:
        return None
    room, num_bytes, num_held_out = most_bytes, 0.0, 0.0
    for stream in source.streams():
        if not (isinstance(stream, TextFileStream) and stream.is_one_document):
            return None
        for name, size in _documents_of(stream):
            taken = min(size, room)
            room -= taken
            num_bytes += taken
            num_held_out += taken if hold_out.takes(name) else 0
    return num_held_out / num_bytes if num_bytes else None


def _documents_of(stream: TextFileStream) -> Iterator[tuple[str, float]]:
    """Yields names and bytes of a plain text's documents: a very long one has several names."""
    path = stream.file.path
    left = size_of(path) * (MOST_COMPRESSED if is_compressed(path) else 1)
    number = 0
    while left > 0:
        yield (f"{stream.name}#{number}" if number else stream.name), min(left, LONGEST_PIECES)
        left, number = left - LONGEST_PIECES, number + 1


def size_of(path: Path) -> int:
    """Returns the bytes of a file; 0 where it cannot be looked at."""
    try:
        return os.stat(path).st_size  # noqa: PTH116 - many of them
    except OSError:
        return 0
