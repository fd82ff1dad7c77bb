"""What the campaign calls the same bytes, and how it reads a run's log."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.chaos.same_bytes import differences
from benchmarks.chaos.tiny_run import descendants, events_of
from tests.support.waiting import wait_until

REPORT = """# Run

## What was run

- Commit: {seconds}.
- Machine: {seconds} cores.

## From documents to training

| stage | refused | rows | seconds | rows/s |
| --- | --- | ---: | ---: | ---: |
| sentences | duplicate 2 | {rows} | {seconds} | {seconds} |

Seconds are summed.

## Notes

| a | 1 | {rows} |

## Stages of the run

Arrows lead on. 9 stages; together {seconds} s of work and {seconds} kB. Some ran side by side.
"""


@pytest.fixture
def two_runs(tmp_path: Path) -> tuple[Path, Path]:
    """Two work folders with the same rows, made at other speeds."""
    for name, seconds in (("whole", 1.0), ("killed", 2.0)):
        folder = tmp_path / name / "corpora" / "text"
        (folder / "jobs").mkdir(parents=True)
        (folder / "jobs" / "00000.json").write_text(json.dumps({"output": name}))
        (folder / "00000.parquet").write_bytes(b"rows")
        manifest = {"rows": 3, "seconds": seconds, "extra": {"sentences_per_second": seconds}}
        (folder / "00000.json").write_text(json.dumps(manifest))
        checksum = hashlib.sha256((folder / "00000.json").read_bytes()).hexdigest()
        (folder / "manifest.json").write_text(json.dumps({"file_sha256": {"00000": checksum}}))
        (folder / "metrics.jsonl").write_text(f'{{"loss": 1, "seconds": {seconds}}}\n' * 2)
        (folder / "report.md").write_text(REPORT.format(seconds=seconds, rows=3))
        page = tmp_path / name / "reports" / "text" / "report.html"
        page.parent.mkdir(parents=True)
        page.write_text(f"{seconds}")
    return tmp_path / "whole", tmp_path / "killed"


def test_runs_of_other_speed_do_not_differ(two_runs: tuple[Path, Path]) -> None:
    assert differences(*two_runs) == []


def test_what_differs_is_named(two_runs: tuple[Path, Path]) -> None:
    folder = two_runs[1] / "corpora" / "text"
    (folder / "00000.parquet").write_bytes(b"others")
    (folder / "00000.json").write_text(json.dumps({"rows": 4}))
    (folder / "metrics.jsonl").write_text('{"loss": 1}\n{"loss": 2}\n')
    (folder / "report.md").unlink()
    (folder / "00001.parquet.7.unfinished").write_bytes(b"")

    assert differences(*two_runs) == [
        "corpora/text/report.md is missing",
        "corpora/text/00001.parquet.7.unfinished is too much",
        "corpora/text/00000.json differs",
        "corpora/text/00000.parquet differs",
        # Its sha256 is that of no file of its run.
        "corpora/text/manifest.json differs",
        "corpora/text/metrics.jsonl differs",
    ]


def test_of_a_reports_stages_only_the_times_may_differ(two_runs: tuple[Path, Path]) -> None:
    report = two_runs[1] / "corpora" / "text" / "report.md"
    for text in (REPORT.format(seconds=2.0, rows=4), report.read_text().replace("2 |", "1 |", 1)):
        report.write_text(text)
        assert differences(*two_runs) == ["corpora/text/report.md differs"]


def test_nothing_is_not_the_same_as_nothing(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "00000.json").write_text("{}")

    assert differences(tmp_path, tmp_path) == [f"{tmp_path} holds nothing to compare"]


def test_text_that_is_packed_is_compared(two_runs: tuple[Path, Path]) -> None:
    for number, folder in enumerate(two_runs):
        (folder / "a.txt.gz").write_bytes(bytes([number]))

    assert differences(*two_runs) == ["a.txt.gz differs"]


def test_a_log_tells_what_ran() -> None:
    worker = "INFO: [pid 7] Worker Worker(salt=1, workers=2, pid=5)"
    log = (
        f"{worker} running   ParseShard(stage=dependencies, sentences=/w/corpora/files-altered-0)\n"
        f"{worker} new requirements      ParseDependencies(source=files)\n"
        f"{worker} failed    TrainEncoders(views=SEQ,LIN, seed=7)\n"
        "INFO: Informed scheduler that task   RunAll   has status   DONE\n"
    )

    assert list(events_of(log)) == [
        ("running", "ParseAlteredDependencies"),
        ("new requirements", "ParseDependencies"),
        ("failed", "TrainEncoders in two processes"),
    ]


def test_descendants_are_found_until_they_end() -> None:
    sleeper = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"
    process = subprocess.Popen([sys.executable, "-c", sleeper], stdin=subprocess.PIPE)
    wait_until(lambda: any("input()" in p.command for p in descendants(process.pid)))
    (child,) = descendants(process.pid)
    assert child.is_alive()

    process.communicate(b"\n")

    assert not child.is_alive()
