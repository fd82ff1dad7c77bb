"""Counts the words of sentence shards, and merges the counts to a vocabulary.

``python -m treeviews.pipeline.vectors.word_counts JOB.json``, whose file holds a `CountJob`. To
count, a row group is in memory at a time, and the distinct words of a shard; to merge, all distinct
words, some 100 bytes each. The result is the same whatever the number of shards counted side by
side.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from treeviews.pipeline.base.job import Progress, run_from_command_line
from treeviews.pipeline.base.json_files import check_file, read_object, write_sealed_json
from treeviews.pipeline.base.settings import Count, Natural, Option, Settings
from treeviews.pipeline.shards.arrow import numbers, values_of
from treeviews.pipeline.shards.manifests import read_verified_manifest
from treeviews.pipeline.shards.shards import read_row_groups
from treeviews.pipeline.vectors.word_lists import (
    NOWHERE,
    WordIndex,
    WordList,
    read_word_list,
    write_word_list,
)

COUNTING_VERSION = 1
"""Raised when the same sentences would give other counts."""
REMEDY = "delete it and its .json, and run CountVocabulary again"
_COUNTED_FROM = "counted_from"
VOCABULARY_FILE = "words.parquet"
REPORT_FILE = "vocabulary.json"
"""What the vocabulary covers; sealed, with the sha256 of the words."""
SIZES = tuple(lead * 10**power for power in range(3, 9) for lead in (1, 2, 5))
"""Numbers of words whose coverage is told: 1,000, 2,000, 5,000, 10,000, …"""
MOST_NAMED = 20
MIN_COUNTS = (1, 2, 3, 5, 10, 20, 50, 100)
_FILES_AT_ONCE = 64


class VocabularyConfig(Settings):
    """Which words are kept."""

    called: ClassVar[str] = "vocabulary setting"

    lower_case: Annotated[bool, Option()] = False
    """Convert words to lower case."""
    max_words: Annotated[Natural, Option()] = 2_000_000
    """Number of words to keep, the most frequent first, ties in byte order; 0: all, in memory that
    grows with their number."""
    min_count: Annotated[Count, Option()] = 1
    """Drop words that are rarer."""


class CountJob(Settings):
    """Which shards are counted, or that the counts of all are merged."""

    called: ClassVar[str] = "counting job field"

    counts: Path
    """Folder of the counts."""
    config: VocabularyConfig
    sentences: Path
    """Folder of the sentence shards."""
    number: Natural | None = None
    """Of the first shard to count; null, when all are counted, to merge."""
    count: Count = 1
    """Number of shards: ``number`` and those that follow it, or all."""
    out: Path | None = None
    """Where the vocabulary goes, to merge."""


def execute(job: CountJob, progress: Progress) -> None:
    """Does what a job says; see `count_shard` and `merge_counts`."""
    if job.number is None:
        assert job.out is not None
        merge_counts(job.counts, job.count, job.config, job.out)
        progress(1.0, f"{job.count} shards merged")
        return
    for done, number in enumerate(range(job.number, job.number + job.count), start=1):
        count_shard(job.sentences, number, job.counts, lower_case=job.config.lower_case)
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


def merge_counts(
    counts: Path, num_shards: int, config: VocabularyConfig, out: Path
) -> dict[str, Any]:
    """Writes the words that are kept, most frequent first, then what they cover.

    Args:
        counts: folder of `num_shards` files of counts.
        out: folder for `VOCABULARY_FILE` and, last, `REPORT_FILE`.

    Returns:
        What `REPORT_FILE` says.

    Raises:
        ValueError: a file of counts is damaged, or no word is left; names it.
    """
    out.mkdir(parents=True, exist_ok=True)
    counted = WordList(pa.array([], pa.large_string()), np.empty(0, dtype=np.int64))
    paths = [counts_path(counts, number) for number in range(num_shards)]
    for path in paths:
        check_file(path, read_object(path.with_suffix(".json"), (), remedy=REMEDY), REMEDY)
    for first in range(0, num_shards, _FILES_AT_ONCE):
        some = paths[first : first + _FILES_AT_ONCE]
        counted = summed([counted, *(read_word_list(path, remedy=REMEDY) for path in some)])
    assert counted.counts is not None
    often = np.flatnonzero(counted.counts >= config.min_count)
    order = often[np.argsort(-counted.counts[often], kind="stable")][: config.max_words or None]
    if not len(order):
        raise ValueError(
            f"{counts}: no word stands {config.min_count} times among {len(counted.words):,} "
            "distinct ones; give more text, or lower min_count"
        )
    words = WordList(counted.words.take(numbers(order)), counted.counts[order])
    write_word_list(out / VOCABULARY_FILE, words)
    report = _report(counted, words, config)
    write_sealed_json(out / REPORT_FILE, report, [out / VOCABULARY_FILE])
    return report


def _report(counted: WordList, words: WordList, config: VocabularyConfig) -> dict[str, Any]:
    """Returns what the words cover of all that were counted."""
    assert words.counts is not None and counted.counts is not None
    counts = counted.counts
    upto = np.cumsum(words.counts)

    def covered(types: int, tokens: int, **of: int) -> dict[str, Any]:
        return {
            **of,
            "types": types,
            "tokens": tokens,
            "share_of_types": round(types / max(len(counts), 1), 6),
            "share_of_tokens": round(tokens / max(int(counts.sum()), 1), 6),
        }

    sizes = [size for size in SIZES if size < len(upto)] + [len(upto)]
    at_least = [counts[counts >= least] for least in MIN_COUNTS]
    return {
        "config": config.to_dict(),
        "words": len(upto),
        "types": len(counts),
        "tokens": int(counts.sum()),
        "by_size": [
            covered(size, int(upto[size - 1]), words=size, least=int(words.counts[size - 1]))
            for size in sizes
        ],
        "by_min_count": [
            covered(len(often), int(often.sum()), min_count=least)
            for least, often in zip(MIN_COUNTS, at_least, strict=True)
        ],
    }


def coverage_by(known: pa.Array, vocabulary: WordList) -> dict[str, Any]:
    """Returns how much of a vocabulary these words cover.

    Args:
        known: ``large_string``.
        vocabulary: most frequent words first; without counts each counts once.

    Returns:
        Types and tokens that are known as they stand (``exact_types``, ``exact_tokens``), only
        lower-cased, as a token is looked up, and unknown; the shares that are covered; the most
        frequent unknown words.
    """
    index, words = WordIndex(known), vocabulary.words
    counts = vocabulary.counts
    if counts is None:
        counts = np.ones(len(words), dtype=np.int64)
    exact = index.places(words) != NOWHERE
    lowered = (index.places(pc.utf8_lower(words)) != NOWHERE) & ~exact
    unknown = ~(exact | lowered)
    first = words.take(numbers(np.flatnonzero(unknown)[:MOST_NAMED])).to_pylist()
    ways = {"exact": exact, "lower_cased": lowered, "unknown": unknown}
    return {
        **{f"{name}_types": int(mask.sum()) for name, mask in ways.items()},
        **{f"{name}_tokens": int(counts[mask].sum()) for name, mask in ways.items()},
        "share_of_types": 1 - int(unknown.sum()) / max(len(words), 1),
        "share_of_tokens": 1 - int(counts[unknown].sum()) / max(int(counts.sum()), 1),
        "most_frequent_unknown": first,
    }


if __name__ == "__main__":
    sys.exit(run_from_command_line(execute, kind=CountJob))
