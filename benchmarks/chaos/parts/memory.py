"""Resident memory over millions of short sentences: flat in both parsers and in splitting.

Each job runs as a stage starts it. One word of each sentence is a new one, so that whatever keeps
words is seen. A straight line is fitted to the memory over the sentences done.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import linear_regression

from benchmarks.chaos.tiny_run import TinyRun, descendants
from benchmarks.chaos.trial import Options, Trial
from benchmarks.shard_memory import follow_job
from pipeline.base.bundled import BUNDLED_PARSERS
from pipeline.base.machine import resident_bytes
from pipeline.parsers.adapters.folder_files import STAGES
from pipeline.shards.manifests import complete_shards
from pipeline.shards.shards import ROW_GROUP_ROWS, ShardWriter, rows_in_shard
from pipeline.text.split import SentenceShard

MIB = 1 << 20
JOB = "pipeline.text.split_parts"
ROWS, QUICK_ROWS = 1_000_000, 12_000
SPLIT_TIMES = 10
"""As many are split: a shard has as much text as others, and these sentences are short."""
DOCUMENT_ROWS = 100
MOST_GROWTH_MIB = 64.0
"""Over all sentences: of a million, 67 bytes each."""
WARM_SHARE = 0.25
"""Of the sentences, the first: caches and the allocator fill meanwhile."""
WORDS = ("rain", "the", "fell", "owl", "slept", "a", "old", "door", "they", "saw", "sang", "ran")


def trials(options: Options) -> Iterator[Trial]:
    """Follows the memory of a job of each kind."""
    rows = QUICK_ROWS if options.quick else ROWS
    folder = options.work / "sentences"
    with ShardWriter(folder, "sentences", 0) as writer:
        for first in range(0, rows, ROW_GROUP_ROWS):
            part = SentenceShard(0)
            for number in range(first, min(first + ROW_GROUP_ROWS, rows)):
                story, place = divmod(number, DOCUMENT_ROWS)
                part.add(f"story-{story}", place, sentence(options.seed, number))
            writer.write(part.to_table())
        writer.finish(drops={})
    for stage in STAGES:
        job: dict[str, object] = {
            "stage": stage,
            "parser": str(BUNDLED_PARSERS[stage]),
            "sentences": str(folder),
            "output": str(options.work / stage),
            "number": 0,
        }
        try:
            curve = follow_job(job, options.work, every_seconds=0.1)
        except RuntimeError as error:
            yield Trial(stage, False, str(error))
            continue
        samples = [(share * rows, mib) for share, mib in curve.samples if share >= WARM_SHARE]
        yield flat(f"{rows:,} sentences, {stage}", samples)
    rows *= SPLIT_TIMES
    text = _write_text(options.work / "text", options.seed, rows)
    yield flat(f"{rows:,} sentences, splitting", _split(text, options.work))


def sentence(seed: int, number: int) -> list[str]:
    """Returns two to four words and a full stop."""
    chance = random.Random(f"{seed} {number}")
    known = chance.choices(WORDS, k=chance.randint(1, 3))
    new = "".join(chance.choices("abcdefghijklmnop", k=5))
    return [*known, new, "."]


def flat(what: str, samples: Sequence[tuple[float, float]]) -> Trial:
    """Tells whether memory stays.

    Args:
        samples: sentences done, and MiB then.
    """
    if len({done for done, _ in samples}) < 2:
        return Trial(what, False, "too few samples")
    done, mib = zip(*samples, strict=True)
    growth = linear_regression(done, mib).slope * (max(done) - min(done))
    outcome = f"grows by {growth:.1f} MiB from {min(done):,.0f} on; {max(mib):.0f} MiB at most"
    return Trial(what, growth <= MOST_GROWTH_MIB, outcome)


def _write_text(folder: Path, seed: int, rows: int) -> Path:
    """Writes the same sentences as lines, a file a thousand documents."""
    folder.mkdir()
    per_file = 1_000 * DOCUMENT_ROWS
    for first in range(0, rows, per_file):
        numbers = range(first, min(first + per_file, rows))
        lines = (" ".join(sentence(seed, number)).capitalize() for number in numbers)
        (folder / f"{first:08d}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def _split(text: Path, work: Path) -> list[tuple[float, float]]:
    """Splits a text; returns the sentences done and the most memory of each shard.

    A shard in the making is in memory, and the first ones are smaller than the later: only those
    of the size that most of the sentences are in count.
    """
    run = TinyRun(text, work / "split", work / "logs", ("--workers", "1"))
    started = run.start(("SplitSentences", "--paragraphs", "line"))
    peaks: dict[int, float] = {}
    while started.code is None:
        folder = next((work / "split").glob("corpora/*/sentences"), None)
        number = len(list(folder.glob("[0-9]*.json"))) if folder else 0
        for process in descendants(started.process.pid):
            if JOB in process.command:
                resident = resident_bytes(process.number) / MIB
                peaks[number] = max(peaks.get(number, 0.0), resident)
        time.sleep(0.02)
    if started.code or folder is None:
        return []
    shards = complete_shards(folder)
    rows_of_size: dict[int, int] = {}
    for shard in shards[:-1]:  # the last one is not full
        size = rows_in_shard(shard.number)
        rows_of_size[size] = rows_of_size.get(size, 0) + shard.rows
    most = max(rows_of_size, key=rows_of_size.__getitem__, default=0)
    return [
        (float(sum(other.rows for other in shards[: shard.number + 1])), peaks[shard.number])
        for shard in shards[:-1]
        if rows_in_shard(shard.number) == most and shard.number in peaks
    ]
