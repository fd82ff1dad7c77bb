"""Merges the counts of shards: ``python -m pipeline.vocabulary.merge_counts JOB.json``.

All distinct words are in memory, some 100 bytes each. The result is the same whatever the number of
shards counted side by side.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from pipeline.base.job import Progress, run_job_from_command_line
from pipeline.base.json_files import write_sealed_json
from pipeline.base.settings import Count, Natural, Settings
from pipeline.shards.arrow import numbers
from pipeline.vectors.word_list import WordList, read_word_list, write_word_list
from pipeline.vocabulary.count_shard import checked_counts, summed

VOCABULARY_FILE = "words.parquet"
REPORT_FILE = "vocabulary.json"
"""What the vocabulary covers; sealed, with the sha256 of the words."""
SIZES = tuple(lead * 10**power for power in range(3, 9) for lead in (1, 2, 5))
"""Numbers of words whose coverage is told: 1,000, 2,000, 5,000, 10,000, …"""
MIN_COUNTS = (1, 2, 3, 5, 10, 20, 50, 100)
_FILES_AT_ONCE = 64


class VocabularyConfig(Settings):
    """Which words are kept."""

    called: ClassVar[str] = "vocabulary setting"

    lower_case: bool = False
    max_words: Natural = 2_000_000
    """The most frequent ones, of equal ones the first in byte order; 0: all."""
    min_count: Count = 1


class MergeJob(Settings):
    """Which counts are merged, and where the vocabulary goes."""

    called: ClassVar[str] = "merging job field"

    counts: Path
    """Folder of the counts."""
    num_shards: Natural
    config: VocabularyConfig
    out: Path


def execute(job: MergeJob, progress: Progress) -> None:
    """Merges as a job says; see `merge_counts`."""
    merge_counts(job.counts, job.num_shards, job.config, job.out)
    progress(1.0, f"{job.num_shards} shards merged")


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
    found = merged([checked_counts(counts, number) for number in range(num_shards)])
    words = _most_frequent(found, config)
    if not len(words.words):
        raise ValueError(
            f"{counts}: no word stands {config.min_count} times among {len(found.words):,} "
            "distinct ones; give more text, or lower min_count"
        )
    write_word_list(out / VOCABULARY_FILE, words)
    report = _report(found, words, config)
    write_sealed_json(out / REPORT_FILE, report, [out / VOCABULARY_FILE])
    return report


def merged(paths: Sequence[Path]) -> WordList:
    """Returns the distinct words of all files with the sums of their counts, in byte order.

    Args:
        paths: of word lists.

    Raises:
        ValueError: a file is damaged.
    """
    found = WordList(pa.array([], pa.large_string()), np.empty(0, dtype=np.int64))
    for first in range(0, len(paths), _FILES_AT_ONCE):
        some = paths[first : first + _FILES_AT_ONCE]
        remedy = "delete it and run the stage again"
        found = summed([found, *(read_word_list(path, remedy=remedy) for path in some)])
    return found


def _most_frequent(found: WordList, config: VocabularyConfig) -> WordList:
    """Returns the words that are kept, most frequent first; of equal counts in byte order."""
    assert found.counts is not None
    often = np.flatnonzero(found.counts >= config.min_count)
    order = often[np.argsort(-found.counts[often], kind="stable")][: config.max_words or None]
    return WordList(found.words.take(numbers(order)), found.counts[order])


def _report(found: WordList, words: WordList, config: VocabularyConfig) -> dict[str, Any]:
    """Returns what the words cover of all that were found."""
    assert words.counts is not None and found.counts is not None
    counts = found.counts
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


if __name__ == "__main__":
    sys.exit(run_job_from_command_line(MergeJob, execute))
