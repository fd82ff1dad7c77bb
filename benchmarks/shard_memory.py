"""Measures the memory of a shard job over its rows: flat, if all is well.

``python -m benchmarks.shard_memory`` joins the sentences of a corpus into one shard, starts its job
as a run does, in a process of its own, and follows that process' resident memory. The last line it
prints is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pyarrow as pa

from benchmarks.corpus import corpus_folders
from benchmarks.quick import parse_arguments
from benchmarks.report import Table, fail, header, print_last_line, print_table
from benchmarks.training_rate import device_name, device_of
from pipeline.base.atomic_files import write_json_atomically
from pipeline.base.bundled import BUNDLED_PARSERS, parser_folder
from pipeline.base.job import job_environment
from pipeline.base.machine import peak_bytes, resident_bytes
from pipeline.base.watched import watched
from pipeline.parsers.adapters.folder_files import STAGES
from pipeline.shards.manifests import read_dataset_manifest
from pipeline.shards.shards import ShardWriter, read_row_groups

PARTS = 10
_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class MemoryCurve:
    """The resident memory of a shard job."""

    samples: list[tuple[float, float]]
    """Fraction of the rows done, and MiB, from the first rows on."""
    loaded_mib: float
    """With the parser loaded, before the first sentence."""
    peak_mib: float
    """The most that it ever had, as the system counts it."""

    def between(self, low: float, high: float) -> list[float]:
        """Returns the MiB while the fraction done was in [low, high)."""
        return [mib for fraction, mib in self.samples if low <= fraction < high]

    def figures(self) -> dict[str, float]:
        """Returns the numbers of the last line."""
        first, last = self.between(0.0, 0.25), self.between(0.75, 1.01)
        return {
            "peak_mib": round(self.peak_mib, 1),
            "loaded_mib": round(self.loaded_mib, 1),
            "above_loaded_mib": round(self.peak_mib - self.loaded_mib, 1),
            "first_quarter_mib": round(median(first), 1) if first else 0.0,
            "last_quarter_mib": round(median(last), 1) if last else 0.0,
        }


QUICK = {"rows": 5_000}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns 0, or what `fail` says of what went wrong."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = parse_arguments(_parser(), given, QUICK)
    try:
        if options.rows < 1 or options.every <= 0:
            raise ValueError(
                f"--rows is {options.rows}, --every {options.every:g}: the first must be at least "
                "1, the second above 0"
            )
        device = device_of(options.device)
        sentences = options.sentences or corpus_folders(None).sentences
        with tempfile.TemporaryDirectory() as scratch:
            rows = join_sentences(sentences, Path(scratch) / "sentences", options.rows)
            job = {
                "stage": options.stage,
                "parser": str(options.parser or BUNDLED_PARSERS[options.stage]),
                "sentences": str(Path(scratch) / "sentences"),
                "output": str(Path(scratch) / "parses"),
                "number": 0,
                "device": device.type,
            }
            curve = follow_job(job, Path(scratch), every_seconds=options.every)
    except (FileNotFoundError, ValueError, RuntimeError) as error:
        return fail(error)
    text = f"{rows:,} sentences of {sentences} in one shard"
    run = header(
        *("benchmarks.shard_memory", given),
        text=text,
        seed=0,
        device=device_name(device),
        quick=options.quick,
    )
    print_table(_table(curve, options.stage, rows), run)
    print_last_line({**curve.figures(), "rows": rows, "stage": options.stage})
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shard_memory", description=__doc__)
    add = parser.add_argument
    add("--sentences", type=Path, help="folder of sentence shards; default: the default run's")
    add("--rows", type=int, default=50_000, help="at most so many sentences; default: 50000")
    add("--stage", choices=STAGES, default=STAGES[0])
    add(
        "--parser",
        type=parser_folder,
        help="its folder or name; default: the bundled one",
    )
    add("--device", choices=("auto", "cpu", "cuda"), default="cpu", help="default: cpu")
    add("--every", type=float, default=0.25, help="seconds between two samples; default: 0.25")
    return parser


def join_sentences(folder: Path, output: Path, max_rows: int) -> int:
    """Writes the first sentences of a stage as one shard; returns how many.

    Raises:
        FileNotFoundError: the stage is not complete.
    """
    rows = 0
    with ShardWriter(output, "sentences", 0) as writer:
        for shard in read_dataset_manifest(folder, "sentences").shards:
            for group in read_row_groups(folder, "sentences", shard.number):
                part: pa.Table = group.slice(0, max_rows - rows)
                writer.write(part)
                rows += part.num_rows
        writer.finish(drops={})
    return rows


def follow_job(job: dict[str, object], scratch: Path, *, every_seconds: float) -> MemoryCurve:
    """Runs a shard job in a process of its own and samples its memory.

    Args:
        job: what its file says, see `pipeline.parsing.parse_shard`.
        scratch: folder for that file.

    Raises:
        RuntimeError: the job failed; carries what it said.
    """
    path = scratch / "job.json"
    write_json_atomically(path, job)
    errors = scratch / "errors.txt"
    with errors.open("w", encoding="utf-8") as stream:
        process = subprocess.Popen(
            [sys.executable, *watched("pipeline.parsing.parse_shard", str(path))],
            stdout=subprocess.PIPE,
            stderr=stream,
            text=True,
            env=job_environment(threads=1),
        )
    follower = _Follower(process)
    follower.start()
    samples = []
    peak = 0.0
    while follower.is_alive():
        peak = max(peak, peak_bytes(process.pid) / _MIB)
        if follower.loaded_mib and (mib := resident_bytes(process.pid) / _MIB):
            samples.append((follower.fraction, mib))
        time.sleep(every_seconds)
    if process.wait():
        said = errors.read_text(encoding="utf-8").strip()
        raise RuntimeError(f"the shard job exited with {process.returncode}: {said}")
    return MemoryCurve(samples, follower.loaded_mib, peak)


class _Follower(threading.Thread):
    """Reads a job's progress; ends with the job's output."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        super().__init__(daemon=True)
        self._process = process
        self.fraction = 0.0
        self.loaded_mib = 0.0

    def run(self) -> None:
        """Keeps the fraction done, and the memory at the moment when parsing begins."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            report = json.loads(line)
            if report["status"] == "parsing":
                self.loaded_mib = resident_bytes(self._process.pid) / _MIB
            self.fraction = float(report["progress"])


def _table(curve: MemoryCurve, stage: str, rows: int) -> Table:
    lines = [["parser loaded", f"{curve.loaded_mib:.0f}", f"{curve.loaded_mib:.0f}"]]
    for part in range(PARTS):
        low, high = part / PARTS, (part + 1) / PARTS + (0.01 if part == PARTS - 1 else 0)
        if values := curve.between(low, high):
            name = f"{rows * part // PARTS:,} to {rows * (part + 1) // PARTS:,}"
            lines.append([name, f"{median(values):.0f}", f"{max(values):.0f}"])
    note = f"resident memory in MiB; peak of the whole process {curve.peak_mib:.0f}"
    return Table(f"Memory of a shard job, {stage}", ["sentences", "median", "most"], lines, [note])


if __name__ == "__main__":
    sys.exit(main())
