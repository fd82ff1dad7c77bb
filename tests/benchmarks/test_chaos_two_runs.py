"""The part of the campaign that starts two runs at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.chaos.__main__ import main
from benchmarks.chaos.parts.two_runs import judged


def write_run(work: Path, *, shard: bytes = b"rows", steps: tuple[int, ...] = (1, 2)) -> Path:
    work.mkdir()
    (work / "00000.parquet").write_bytes(shard)
    lines = [json.dumps({"step": step}) for step in steps]
    (work / "metrics.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return work


def test_what_differs_fails_or_stands_twice_is_told(tmp_path: Path) -> None:
    alone = write_run(tmp_path / "alone")
    fine, bad = (0, ""), (10, "Did not run any tasks\n")
    other = write_run(tmp_path / "other", shard=b"others")
    twice = write_run(tmp_path / "twice", steps=(1, 2, 1, 2))

    assert judged("same", [fine, fine], alone, alone).survived
    assert judged("failed", [fine, bad], alone, alone).outcome == "rc 10: Did not run any tasks"
    assert "00000.parquet is not as of one run" in judged("b", [fine], alone, other).outcome
    assert "has steps more than once" in judged("c", [fine], alone, twice).outcome
    assert not any(judged("d", [fine], alone, work).survived for work in (other, twice))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_runs_at_once_survive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--work", str(tmp_path / "work"), "--parts", "two_runs", "--quick"])

    assert code == 0, capsys.readouterr().out
