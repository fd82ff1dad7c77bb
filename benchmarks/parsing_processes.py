"""Compares two shard jobs that run at once with one alone: real ones, each in its own process."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count, cycle, islice
from pathlib import Path

import pyarrow as pa

from benchmarks.parsing_contestants import Sentences
from benchmarks.report import tell
from benchmarks.stopwatch import Spent
from benchmarks.timed_command import children_cpu_seconds
from pipeline.base.job import run_job_process
from pipeline.shards.manifests import read_shard_manifest
from pipeline.shards.schema import schema_for
from pipeline.shards.shards import write_shard


@dataclass(frozen=True, slots=True)
class ProcessRates:
    """Sentences a second of one stage's shard jobs: on the clock, loading the parser excluded."""

    stage: str
    one: float
    """Of a job that runs alone."""
    two: float
    """Of two jobs at once, together: twice a shard's rows in the time of the slower."""
    one_by_cpu: float
    """Of a job that runs alone, by the processor's time of its process, loading included."""
    two_by_cpu: float
    """The same of two jobs at once; less than that of one where they are in each other's way."""

    @property
    def ratio(self) -> float:
        """How many times as fast two are."""
        return self.two / self.one


def process_rates(
    stage: str, parser: Path, sentences: Sentences, *, num_rows: int, rounds: int
) -> ProcessRates:
    """Returns the rates of one job and of two, each the best of the rounds, in turns.

    Args:
        num_rows: of each shard; the sentences are repeated until it is full.
    """
    with tempfile.TemporaryDirectory() as folder:
        jobs = _jobs(Path(folder), stage, parser, sentences, num_rows)
        ones, twos = [], []
        for number in range(rounds):
            tell(f"round {number + 1} of {rounds}: shard jobs, {stage}")
            ones.append(_spent([next(jobs)]))
            twos.append(_spent([next(jobs), next(jobs)]))
    return ProcessRates(
        stage,
        one=num_rows / min(spent.wall for spent in ones),
        two=2 * num_rows / min(spent.wall for spent in twos),
        one_by_cpu=num_rows / min(spent.cpu for spent in ones),
        two_by_cpu=2 * num_rows / min(spent.cpu for spent in twos),
    )


def _jobs(
    folder: Path, stage: str, parser: Path, sentences: Sentences, num_rows: int
) -> Iterator[dict[str, object]]:
    """Writes one shard; yields jobs that each parse it into a folder of their own."""
    rows = [
        {"document_id": "text", "sentence_index": number, "tokens": list(tokens)}
        for number, tokens in enumerate(islice(cycle(sentences), num_rows))
    ]
    table = pa.Table.from_pylist(rows, schema=schema_for("sentences"))
    write_shard(folder / "sentences", "sentences", 0, table, drops={}, quarantine=())
    for number in count():
        yield {
            "stage": stage,
            "parser": str(parser),
            "sentences": str(folder / "sentences"),
            "output": str(folder / f"parsed-{number}"),
            "number": 0,
        }


def _spent(jobs: list[dict[str, object]]) -> Spent:
    """Runs jobs at once; returns the seconds of the slowest for its rows, and the CPU's of all."""
    before = children_cpu_seconds()
    with ThreadPoolExecutor(len(jobs)) as threads:
        slowest = max(threads.map(_seconds, jobs))
    return Spent(slowest, children_cpu_seconds() - before)


def _seconds(job: dict[str, object]) -> float:
    output = Path(str(job["output"]))
    run_job_process(
        "pipeline.parsing.parse_shard", job, output / "job.json", lambda *_: None, threads=1
    )
    manifest = read_shard_manifest(output, 0)
    assert manifest is not None, f"{output}: the job ended and left no shard"
    return manifest.seconds
