"""The shard job: counts the words of one sentence shard.

``python -m treeviews.pipeline.vectors.count_shard JOB.json``, whose file holds a `CountJob`.
One row group
is in memory at a time, and the counts of the shard's distinct words.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from treeviews.pipeline.base.job import Progress, run_job_from_command_line
from treeviews.pipeline.base.json_files import check_file, read_object, write_sealed_json
from treeviews.pipeline.base.settings import Count, Natural, Settings
from treeviews.pipeline.shards.arrow import values_of
from treeviews.pipeline.shards.manifests import read_verified_manifest
from treeviews.pipeline.shards.shards import read_row_groups
from treeviews.pipeline.vectors.word_lists import WordList, write_word_list

COUNTING_VERSION = 1
"""Raised when the same sentences would give other counts."""
_COUNTED_FROM = "counted_from"
REMEDY = "delete it and its .json, and run CountVocabulary again"


class CountJob(Settings):
    """Which shards are counted, and where their counts go."""

    called: ClassVar[str] = "counting job field"

    sentences: Path
    """Folder of the sentence shards."""
    number: Natural
    counts: Path
    """Folder of the counts."""
    lower_case: bool = False
    count: Count = 1
    """Number of shards: ``number`` and those that follow it."""


def execute(job: CountJob, progress: Progress) -> None:
    """Counts as a job says; see `count_shard`."""
    for done, number in enumerate(range(job.number, job.number + job.count), start=1):
        count_shard(job.sentences, number, job.counts, lower_case=job.lower_case)
        progress(done / job.count, f"shard {number} counted")


def counts_path(folder: Path, number: int) -> Path:
    """Returns the path of a shard's counts; beside it a sealed .json says that they are whole."""
    return folder / f"{number:05d}.parquet"


def is_counted(folder: Path, number: int, sha256: str) -> bool:
    """Returns whether the counts of a shard are there, of the rows with this sha256.

    Raises:
        ValueError: what says so is damaged; names it and the remedy.
    """
    path = counts_path(folder, number)
    noted = path.with_suffix(".json")
    if not (path.is_file() and noted.is_file()):
        return False
    return bool(read_object(noted, (), remedy=REMEDY).get(_COUNTED_FROM) == sha256)


def checked_counts(folder: Path, number: int) -> Path:
    """Returns the path of a shard's counts, whose bytes are those that were written.

    Raises:
        FileNotFoundError: they are not there.
        ValueError: they are damaged; names them and the remedy.
    """
    path = counts_path(folder, number)
    check_file(path, read_object(path.with_suffix(".json"), (), remedy=REMEDY), REMEDY)
    return path


def count_shard(sentences: Path, number: int, counts: Path, *, lower_case: bool = False) -> None:
    """Writes the distinct words of a shard with their counts, in the order of their bytes.

    Nothing is done where they are there; the same shard gives the same bytes.

    Args:
        sentences: folder of the sentence shards.
        counts: folder of the counts; `counts_path` names the file.

    Raises:
        FileNotFoundError: the sentence shard is not complete.
        ValueError: it is damaged.
    """
    source = read_verified_manifest(sentences, number)
    if source is None:
        raise FileNotFoundError(
            f"{sentences}: shard {number} is not complete; run the sentence stage again"
        )
    if is_counted(counts, number, source.sha256):
        return
    counted = WordList(pa.array([], pa.large_string()), np.empty(0, dtype=np.int64))
    for group in read_row_groups(sentences, "sentences", number, ["tokens"]):
        words = pc.list_flatten(group["tokens"]).cast(pa.large_string())
        tokens = pc.utf8_lower(words) if lower_case else words
        values = pc.value_counts(tokens)
        part = WordList(values.field("values"), values_of(values.field("counts")))
        counted = summed([counted, part])
    counts.mkdir(parents=True, exist_ok=True)
    path = counts_path(counts, number)
    write_word_list(path, counted)
    write_sealed_json(path.with_suffix(".json"), {_COUNTED_FROM: source.sha256}, [path])


def summed(parts: list[WordList]) -> WordList:
    """Returns the distinct words of all parts with the sums of their counts, in byte order."""
    words = pa.chunked_array([part.words for part in parts], pa.large_string())
    encoded = words.combine_chunks().dictionary_encode()
    weights = np.concatenate([part.counts for part in parts if part.counts is not None])
    sums = np.zeros(len(encoded.dictionary), dtype=np.int64)
    np.add.at(sums, values_of(encoded.indices), weights)
    order = pc.sort_indices(encoded.dictionary)
    return WordList(encoded.dictionary.take(order), sums[values_of(order).astype(np.int64)])


if __name__ == "__main__":
    sys.exit(run_job_from_command_line(CountJob, execute))
