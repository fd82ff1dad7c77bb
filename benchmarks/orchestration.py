"""Measures what running a stage of many shards costs beside the shards' own work.

``python -m benchmarks.orchestration`` writes a corpus of one-sentence shards and has the command
line that users start (``luigi --module ...``) parse it with the real scheduler, tasks, manifests,
digests, checks and job processes; only the parser is trivial. It then runs the same command again,
which finds everything done. The last line it prints is one JSON object:

- ``overhead_seconds``: the command's wall time less the CPU time of the job processes divided by
  the workers. A job's interpreter and imports count as its own work, as loading a parser does; all
  else is overhead, also the time in which jobs wait for the disk or for a core that Luigi holds.
  Whatever else the machine does counts as overhead, too.
- ``overhead_cpu_seconds``: the CPU time of all but the jobs, which other work on the machine leaves
  be. Of Ray, that of the process that hands out the jobs: its daemons end after it.
- ``noop_seconds``: wall time of the second command, imports included.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from benchmarks.orchestration_tasks import COSTS_FOLDER, DRIVER_COST
from benchmarks.quick import parse_arguments
from benchmarks.report import LackingError, Table, fail, header, print_last_line, print_table, tell
from benchmarks.timed_command import timed
from pipeline.base.bundled import how_to_install
from pipeline.base.job import available_cores
from pipeline.shards.manifests import MOST_RANGES, write_dataset_manifest
from pipeline.shards.schema import schema_for
from pipeline.shards.shards import write_shard
from tasks import SplitSentences

SENTENCE = ("The", "rain", "stopped", ".")
RAY = "ray"
DESIGNS = {
    "local": "Luigi's workers, a task a range",
    RAY: "Ray, a job a range",
    "threads": "threads of one Luigi task",
}


@dataclass(frozen=True, slots=True)
class Cost:
    """What one design took."""

    design: str
    wall_seconds: float
    cpu_seconds: float
    """Of all processes."""
    job_seconds: float
    """Of these, the job processes'."""
    driver_seconds: float
    """Of these, the process that hands out the jobs."""
    noop_seconds: float
    workers: int

    @property
    def overhead_seconds(self) -> float:
        """What the run took beyond the jobs' own work, in seconds."""
        return self.wall_seconds - self.job_seconds / self.workers

    @property
    def orchestration_cpu_seconds(self) -> float:
        """CPU time of all but the jobs, which other work on the machine leaves be."""
        if self.design == RAY:  # whose daemons and workers nobody waits for
            return self.driver_seconds
        return self.cpu_seconds - self.job_seconds


QUICK = {"shards": 40}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns 0, or what `fail` says of what went wrong."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = parse_arguments(_parser(), given, QUICK)
    try:
        for name in ("shards", "workers"):
            if getattr(options, name) < 1:
                raise ValueError(f"--{name} must be at least 1")
        if RAY in options.designs and importlib.util.find_spec("ray") is None:
            raise LackingError(f"Ray is not installed: {how_to_install('ray')}, or leave it out")
        text = f"{options.shards} shards of one sentence of {len(SENTENCE)} tokens"
        run = header("benchmarks.orchestration", given, text=text, seed=0, quick=options.quick)
        costs = [
            measure(design, options.shards, options.workers)
            for design in dict.fromkeys(options.designs)
        ]
    except (RuntimeError, ValueError) as error:
        return fail(error)
    print_table(_table(costs, options.shards), run)
    print_last_line(
        {**_figures(costs[0]), "shards": options.shards, "workers": options.workers}
        | {cost.design: _figures(cost) for cost in costs[1:]}
    )
    return 0


def _figures(cost: Cost) -> dict[str, float]:
    return {
        "overhead_seconds": round(cost.overhead_seconds, 2),
        "noop_seconds": round(cost.noop_seconds, 2),
        "overhead_cpu_seconds": round(cost.orchestration_cpu_seconds, 2),
        "wall_seconds": round(cost.wall_seconds, 2),
    }


def measure(design: str, num_shards: int, workers: int) -> Cost:
    """Returns what parsing so many shards takes, and doing it again.

    Args:
        design: one of `DESIGNS`.

    Raises:
        RuntimeError: Luigi failed; carries the end of its log.
    """
    tell(f"measuring {design}")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        write_corpus(work, num_shards)
        command = _command(design, work, workers)
        taken = timed(command)
        costs = list((work / COSTS_FOLDER).glob("[0-9]*"))
        job_seconds = sum(float(path.read_text(encoding="ascii")) for path in costs)
        driver_seconds = float((work / COSTS_FOLDER / DRIVER_COST).read_text(encoding="ascii"))
        tell(f"measuring {design}: the same again, which finds all done")
        noop_seconds = timed(command).wall_seconds
    return Cost(
        design,
        taken.wall_seconds,
        taken.cpu_seconds,
        job_seconds,
        driver_seconds,
        noop_seconds,
        workers,
    )


def write_corpus(work: Path, num_shards: int) -> Path:
    """Writes what the sentence stage would have; returns its folder."""
    text = work / "text.txt"
    text.write_text(" ".join(SENTENCE) + "\n", encoding="utf-8")
    stage = SplitSentences(work_folder=work, source="files", paths=str(text))
    stage.write_config()
    for number in range(num_shards):
        row = {"document_id": "rain", "sentence_index": number, "tokens": SENTENCE}
        rows = pa.Table.from_pylist([row], schema=schema_for("sentences"))
        write_shard(stage.folder, "sentences", number, rows, drops={}, quarantine=())
    write_dataset_manifest(stage.folder, "sentences", config=stage.content(), num_shards=num_shards)
    folder: Path = stage.folder
    return folder


def _command(design: str, work: Path, workers: int) -> list[str]:
    task = "ParseTriviallyInOneTask" if design == "threads" else "ParseTrivially"
    command = [sys.executable, "-m", "luigi", "--module", "benchmarks.orchestration_tasks", task]
    command += ["--local-scheduler", "--workers", "1" if design == RAY else str(workers)]
    command += ["--work-folder", str(work), "--source", "files", "--paths", str(work / "text.txt")]
    more = {
        RAY: ["--engine", "ray", "--ray-address", "local"],
        "threads": ["--jobs-at-once", str(workers)],
    }
    return command + more.get(design, [])


def _table(costs: Sequence[Cost], num_shards: int) -> Table:
    columns = (
        *("design", "wall (s)", "CPU of jobs (s)", "CPU beside jobs (s)", "overhead (s)"),
        *("a shard (ms)", "no-op run (s)"),
    )
    rows = [
        (
            DESIGNS[cost.design],
            f"{cost.wall_seconds:.1f}",
            f"{cost.job_seconds:.1f}",
            f"{cost.orchestration_cpu_seconds:.1f}",
            f"{cost.overhead_seconds:.1f}",
            f"{1000 * cost.overhead_seconds / num_shards:.0f}",
            f"{cost.noop_seconds:.1f}",
        )
        for cost in costs
    ]
    notes = [
        f"{num_shards} shards in at most {MOST_RANGES} jobs, each a process of its own; "
        f"{costs[0].workers} at once",
        "overhead: wall less the jobs' CPU time divided by those at once; a job's interpreter and "
        "imports are its own work, waiting for disk or for a core is overhead",
        "CPU beside jobs: Luigi's process and the workers that it forks; with Ray, the process "
        "that hands out the jobs, as Ray's own end after it; there, the end of a job's process "
        "counts as overhead, too. Other work on the machine leaves this figure be, but not the "
        "overhead",
        "no-op run: the same command again, imports included",
    ]
    return Table("Orchestration beside the shards' own work", columns, rows, notes)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.orchestration", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--shards", type=int, default=400)
    parser.add_argument("--workers", type=int, default=available_cores(), help="jobs at once")
    parser.add_argument(
        "--designs",
        nargs="+",
        choices=DESIGNS,
        default=["local"],
        help="; ".join(f"{name}: {described}" for name, described in DESIGNS.items()),
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
