"""The part of the campaign that starts two runs at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.chaos.__main__ import main
from benchmarks.chaos.parts.two_runs import judged
from benchmarks.chaos.tiny_run import Started


def write_run(work: Path, *, score: int = 10, steps: tuple[int, ...] = (1, 2)) -> Path:
    work.mkdir()
    (work / "00000.parquet").write_bytes(b"rows")
    (work / "MR.json").write_text(json.dumps({"accuracy": score}), encoding="utf-8")
    lines = [json.dumps({"step": step}) for step in steps]
    (work / "metrics.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return work


def ended(log: Path, code: int = 0, said: str = "") -> Started:
    log.write_text(said, encoding="utf-8")
    process = subprocess.Popen([sys.executable, "-c", f"raise SystemExit({code})"])
    process.wait()
    return Started(process, log)


def test_what_differs_fails_or_stands_twice_is_told(tmp_path: Path) -> None:
    alone = write_run(tmp_path / "alone")
    fine = ended(tmp_path / "fine.log", said="waiting for process 7\n")
    bad = ended(tmp_path / "bad.log", 10, "Did not run any tasks\n")
    other = write_run(tmp_path / "other", score=70)
    twice = write_run(tmp_path / "twice", steps=(1, 2, 1, 2))
    nothing = tmp_path / "nothing"

    same = judged("same", [fine, fine], alone, alone)
    assert same.survived and "2 of them waited" in same.outcome
    failed = judged("failed", [fine, bad], alone, alone)
    assert failed.outcome == "ended with 10: Did not run any tasks"
    assert judged("b", [fine], alone, other).outcome == "MR.json differs"
    assert judged("c", [fine], alone, twice).outcome == "metrics.jsonl differs"
    assert "holds nothing to compare" in judged("d", [fine], nothing, nothing).outcome
    for work in (other, twice, nothing):
        assert not judged("e", [fine], alone, work).survived


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_runs_at_once_survive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--work", str(tmp_path / "work"), "--parts", "two_runs", "--quick"])

    assert code == 0, capsys.readouterr().out
