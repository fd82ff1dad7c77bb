"""Merges the counts of shards: ``python -m pipeline.vocabulary.merge_counts JOB.json``.

Each file of counts is in the order of its words' bytes, so that they merge as they are read, some
of each at a time. What stays in memory are the words that are kept. The result is the same whatever
the number of shards counted side by side.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pipeline.base.config_fields import Config, Count, Natural
from pipeline.base.job import Progress, run_job_from_command_line
from pipeline.base.json_files import write_sealed_json
from pipeline.shards.arrow import numbers, values_of
from pipeline.vectors.word_list import (
    WordList,
    word_list_batches,
    word_list_writer,
    write_word_list,
)
from pipeline.vocabulary.count_shard import checked_counts, summed

VOCABULARY_FILE = "words.parquet"
REPORT_FILE = "vocabulary.json"
"""What the vocabulary covers; sealed, with the sha256 of the words."""
SIZES = tuple(lead * 10**power for power in range(3, 9) for lead in (1, 2, 5))
"""Numbers of words whose coverage is told: 1,000, 2,000, 5,000, 10,000, …"""
MIN_COUNTS = (1, 2, 3, 5, 10, 20, 50, 100)
_FILES_AT_ONCE = 64
_ROWS_AT_ONCE = 32_768


@dataclass(frozen=True, slots=True)
class VocabularyConfig(Config):
    """Which words are kept."""

    called: ClassVar[str] = "vocabulary setting"

    lower_case: bool = False
    max_words: Natural = 2_000_000
    """The most frequent ones, of equal ones the first in byte order; 0: all, in memory that grows
    with them, some 100 bytes each."""
    min_count: Count = 1


@dataclass(frozen=True, slots=True)
class MergeJob(Config):
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
    totals, kept = _Totals(), _Kept(config)
    with tempfile.TemporaryDirectory(dir=out, prefix="merging-") as scratch:
        paths = [checked_counts(counts, number) for number in range(num_shards)]
        for part in merged(paths, Path(scratch)):
            totals.add(part)
            kept.add(part)
    words = kept.finish()
    if not len(words.words):
        raise ValueError(
            f"{counts}: no word stands {config.min_count} times among {totals.types:,} distinct "
            "ones; give more text, or lower min_count"
        )
    write_word_list(out / VOCABULARY_FILE, words)
    report = totals.report(words, config)
    write_sealed_json(out / REPORT_FILE, report, [out / VOCABULARY_FILE])
    return report


def merged(paths: Sequence[Path], scratch: Path) -> Iterator[WordList]:
    """Yields the distinct words of all files with the sums of their counts, in byte order.

    Args:
        paths: of word lists in byte order.
        scratch: an empty folder, for what is merged in between where there are many files.

    Raises:
        ValueError: a file is damaged.
    """
    paths, level = list(paths), 0
    while len(paths) > _FILES_AT_ONCE:
        level += 1
        runs = []
        for first in range(0, len(paths), _FILES_AT_ONCE):
            runs.append(scratch / f"{level}-{first}.parquet")
            with word_list_writer(runs[-1]) as write:
                for part in _merged_at_once(paths[first : first + _FILES_AT_ONCE]):
                    write(part)
        paths = runs
    yield from _merged_at_once(paths)


def _merged_at_once(paths: Sequence[Path]) -> Iterator[WordList]:
    files = [word_list_batches(path, rows=_ROWS_AT_ONCE) for path in paths]
    heads = [(file, head) for file in files if (head := next(file, None)) is not None]
    while heads:
        # Up to the least of the heads' last words, all files have been read.
        last = pc.min(pa.array([head.words[-1].as_py() for _, head in heads], pa.large_string()))
        parts, left = [], []
        for file, head in heads:
            count = int(pc.sum(pc.less_equal(head.words, last)).as_py())
            parts.append(_slice(head, 0, count))
            rest = _slice(head, count) if count < len(head.words) else next(file, None)
            if rest is not None:
                left.append((file, rest))
        heads = left
        yield summed(parts)


def _slice(listed: WordList, start: int, stop: int | None = None) -> WordList:
    assert listed.counts is not None
    counts = listed.counts[start:stop]
    return WordList(listed.words.slice(start, len(counts)), counts)


class _Kept:
    """The words that are kept of those met so far."""

    def __init__(self, config: VocabularyConfig) -> None:
        self._config = config
        self._parts: list[WordList] = []
        self._num = 0

    def add(self, part: WordList) -> None:
        """Adds words that have not been met."""
        assert part.counts is not None
        often = np.flatnonzero(part.counts >= self._config.min_count)
        if len(often):
            self._parts.append(_taken(part, often))
            self._num += len(often)
        most = self._config.max_words
        if most and self._num > 2 * most:
            self._parts = [self.finish()]
            self._num = len(self._parts[0].words)

    def finish(self) -> WordList:
        """Returns the most frequent ones, those first; of equal counts in byte order."""
        if not self._parts:
            return WordList(pa.array([], pa.large_string()), np.empty(0, dtype=np.int64))
        words = pa.chunked_array([part.words for part in self._parts]).combine_chunks()
        counts = np.concatenate([part.counts for part in self._parts if part.counts is not None])
        table = pa.table({"word": words, "count": numbers(counts)})
        order = pc.sort_indices(table, [("count", "descending"), ("word", "ascending")])
        places = values_of(order).astype(np.int64)
        return _taken(WordList(words, counts), places[: self._config.max_words or None])


def _taken(listed: WordList, places: NDArray[np.int64]) -> WordList:
    assert listed.counts is not None
    return WordList(listed.words.take(numbers(places)), listed.counts[places])


@dataclass(slots=True)
class _Totals:
    """Counts over all words, kept or not."""

    types: int = 0
    tokens: int = 0
    types_from: dict[int, int] = field(default_factory=lambda: dict.fromkeys(MIN_COUNTS, 0))
    """Minimum count -> how many words stand that often."""
    tokens_from: dict[int, int] = field(default_factory=lambda: dict.fromkeys(MIN_COUNTS, 0))

    def add(self, part: WordList) -> None:
        """Counts words that have not been met."""
        assert part.counts is not None
        self.types += len(part.counts)
        self.tokens += int(part.counts.sum())
        for least in MIN_COUNTS:
            often = part.counts[part.counts >= least]
            self.types_from[least] += len(often)
            self.tokens_from[least] += int(often.sum())

    def report(self, words: WordList, config: VocabularyConfig) -> dict[str, Any]:
        """Returns what the words cover, which are the most frequent first."""
        assert words.counts is not None
        upto = np.cumsum(words.counts)
        sizes = [size for size in SIZES if size < len(upto)] + [len(upto)]
        return {
            "config": config.to_dict(),
            "words": len(upto),
            "types": self.types,
            "tokens": self.tokens,
            "by_size": [
                self._covered(
                    size, int(upto[size - 1]), words=size, least=int(words.counts[size - 1])
                )
                for size in sizes
            ],
            "by_min_count": [
                self._covered(self.types_from[least], self.tokens_from[least], min_count=least)
                for least in MIN_COUNTS
            ],
        }

    def _covered(self, types: int, tokens: int, **of: int) -> dict[str, Any]:
        return {
            **of,
            "types": types,
            "tokens": tokens,
            "share_of_types": round(types / max(self.types, 1), 6),
            "share_of_tokens": round(tokens / max(self.tokens, 1), 6),
        }


if __name__ == "__main__":
    sys.exit(run_job_from_command_line(MergeJob, execute))
