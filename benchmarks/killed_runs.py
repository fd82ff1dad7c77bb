"""Parses a text twice, once undisturbed and once killed again and again, and compares the bytes.

``python -m benchmarks.killed_runs TEXT... --work FOLDER`` runs the parse stages as a user does, by
Luigi's command line, and sends SIGKILL to the run's whole process group at random moments. The last
line it prints is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import Table, fail, header, print_last_line, print_table
from pipeline.base.atomic_files import TEMPORARY_SUFFIX
from pipeline.base.digest import sha256_of_file
from pipeline.base.sealed import SEAL
from pipeline.shards.manifests import MANIFEST_NAME, read_dataset_manifest

TASKS = ("ParseDependencies", "ParseConstituents")
OF_THE_RUN = ("seconds", "sentences_per_second", SEAL)
"""What manifests say of the run rather than of its rows, and the sha256 of it all."""
GROUP_END_SECONDS = 5.0
"""Killed processes are gone sooner; where nobody reaps orphans, they stay as names alone."""


@dataclass(frozen=True, slots=True)
class Kill:
    """One end of a run."""

    seconds: float
    """Since the run was started."""
    task: str
    """What was running."""
    num_shards: int
    """Shards of all stages that stood complete then."""
    num_unfinished: int
    """Files that a writer was at."""


class KilledRunsError(RuntimeError):
    """A run failed, or the kills cannot be what they should."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns 0 where the bytes are the same, 1 where not, 2 for a mistake."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = _parser().parse_args(given)
    whole, killed = options.work / "undisturbed", options.work / "killed"
    try:
        for folder in (whole, killed):
            if folder.exists():
                raise KilledRunsError(f"{folder}: exists already; give another --work")
        undisturbed_seconds = _run_through(_Runs(options, whole))
        kills, seconds = _run_with_kills(_Runs(options, killed), undisturbed_seconds, options)
        difference = differences(whole, killed)
    except (KilledRunsError, OSError, ValueError) as error:
        return fail(str(error))
    run = header("benchmarks.killed_runs", given, text=", ".join(options.text), seed=options.seed)
    rows = _num_rows(killed)
    print_table(_table(kills, undisturbed_seconds, seconds, difference), run)
    print_last_line({"kills": len(kills), "same_bytes": not difference, "rows": rows})
    return 1 if difference else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.killed_runs", description=__doc__)
    add = parser.add_argument
    add("text", nargs="+", help="files or folders of text")
    add("--work", type=Path, required=True, help="folder for both runs, which must not be there")
    add("--kills", type=int, default=10, help="default: 10")
    add("--seed", type=int, default=0, help="of the moments; default: 0")
    add("--workers", type=int, default=2, help="shard jobs at once; default: 2")
    add("--luigi", default="", help="further parameters of the tasks, such as '--limit 50000'")
    return parser


class _Runs:
    """Luigi's command line, started as often as it takes."""

    def __init__(self, options: argparse.Namespace, work_folder: Path) -> None:
        self.work_folder = work_folder
        self._arguments = [
            *("--local-scheduler", "--workers", str(options.workers), "--source", "files"),
            *("--paths", ",".join(options.text), "--work-folder", str(work_folder)),
            *options.luigi.split(),
        ]
        self._log = work_folder.with_suffix(".log")

    def start(self, task: str) -> subprocess.Popen[bytes]:
        """Starts a task in a process group of its own."""
        self._log.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "luigi", "--module", "tasks", task, *self._arguments]
        with self._log.open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    def check(self, code: int, task: str) -> None:
        """Raises KilledRunsError where a run that was not killed did not succeed."""
        if code:
            raise KilledRunsError(f"{task} exited with {code}; see {self._log}")


def _run_through(runs: _Runs) -> float:
    """Runs all tasks and returns the seconds it took."""
    started = time.monotonic()
    for task in TASKS:
        runs.check(runs.start(task).wait(), task)
    return time.monotonic() - started


def _run_with_kills(
    runs: _Runs, undisturbed_seconds: float, options: argparse.Namespace
) -> tuple[list[Kill], float]:
    """Runs all tasks, killed so often; returns the kills and the seconds of all runs together.

    A run lives for a random part of what one of ``kills`` equal parts of the undisturbed run took:
    all of them together are too short to be done, so that every kill hits work.
    """
    moments = random.Random(options.seed)
    left = [moments.uniform(0, undisturbed_seconds / options.kills) for _ in range(options.kills)]
    kills: list[Kill] = []
    started = time.monotonic()
    for task in TASKS:
        while True:
            process = runs.start(task)
            born = time.monotonic()
            try:
                code = process.wait(timeout=left[0] if left else None)
            except subprocess.TimeoutExpired:
                _kill_group(process)
                kills.append(_kill(runs.work_folder, task, time.monotonic() - born))
                left.pop(0)
                continue
            runs.check(code, task)
            break
    if left:
        raise KilledRunsError(
            f"only {len(kills)} of {options.kills} kills hit a run: it was over before the others; "
            "give more text or fewer --kills"
        )
    return kills, time.monotonic() - started


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kills a run, its workers and their jobs, and waits until all are gone."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + GROUP_END_SECONDS
    with suppress(ProcessLookupError):
        while time.monotonic() < deadline:  # the group is there as long as one of it is
            os.killpg(process.pid, 0)
            time.sleep(0.01)


def _kill(work_folder: Path, task: str, seconds: float) -> Kill:
    manifests = [path for path in work_folder.rglob("[0-9]*.json") if path.parent.name != "jobs"]
    unfinished = list(work_folder.rglob(f"*{TEMPORARY_SUFFIX}"))
    return Kill(seconds, task, len(manifests), len(unfinished))


def differences(whole: Path, killed: Path) -> list[str]:
    """Returns what differs between the corpora of two work folders, and what a kill left behind.

    Rows, quarantine and configuration are compared byte by byte, manifests but for what they say of
    the run.
    """
    expected, found = (dict(_contents(folder / "corpora")) for folder in (whole, killed))
    lines = [f"{name} is missing" for name in sorted(expected.keys() - found.keys())]
    lines += [f"{name} is too much" for name in sorted(found.keys() - expected.keys())]
    shared = sorted(expected.keys() & found.keys())
    return lines + [f"{name} differs" for name in shared if expected[name] != found[name]]


def _contents(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*")):
        if path.is_dir() or path.parent.name == "jobs":
            continue
        name = path.relative_to(folder).as_posix()
        is_manifest = path.suffix == ".json" and path.name != "config.json"
        yield name, _manifest_of_rows(path) if is_manifest else sha256_of_file(path)


def _manifest_of_rows(path: Path) -> str:
    def without(values: object) -> object:
        if isinstance(values, dict):
            return {k: without(v) for k, v in values.items() if k not in OF_THE_RUN}
        return [without(value) for value in values] if isinstance(values, list) else values

    return json.dumps(without(json.loads(path.read_text(encoding="utf-8"))), sort_keys=True)


def _num_rows(work_folder: Path) -> int:
    found = (work_folder / "corpora").glob(f"*/sentences/{MANIFEST_NAME}")
    return sum(read_dataset_manifest(path.parent, "sentences").rows for path in found)


def _table(kills: Sequence[Kill], whole: float, seconds: float, different: list[str]) -> Table:
    rows = [
        [str(n), f"{k.seconds:.1f}", k.task, str(k.num_shards), str(k.num_unfinished)]
        for n, k in enumerate(kills, start=1)
    ]
    bytes_are = "the same in both" if not different else f"different: {'; '.join(different)}"
    notes = [
        "shards: of all stages, complete at the kill; unfinished: files that a writer was at",
        f"undisturbed {whole:.0f} s; with kills {seconds:.0f} s in all",
        f"bytes of rows, quarantines, configurations, and of manifests but for times: {bytes_are}",
    ]
    columns = ["kill", "seconds into the run", "task", "shards", "unfinished"]
    return Table("Runs killed by SIGKILL", columns, rows, notes)


if __name__ == "__main__":
    sys.exit(main())
