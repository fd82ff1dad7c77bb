"""The orchestration benchmark runs real Luigi processes over trivial shards."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import orchestration
from benchmarks.orchestration import DESIGNS, Cost
from benchmarks.orchestration_job import execute
from pipeline.shards.shards import read_shard
from tests.support.ray_tests import on_ray


def test_overhead_is_what_the_jobs_divided_among_the_workers_leave() -> None:
    cost = Cost(
        "local",
        wall_seconds=100,
        cpu_seconds=170,
        job_seconds=150,
        driver_seconds=3,
        noop_seconds=2,
        workers=2,
    )
    assert cost.overhead_seconds == 25
    assert cost.orchestration_cpu_seconds == 20
    assert replace(cost, design="ray").orchestration_cpu_seconds == 3


def test_the_job_parses_into_chains(tmp_path: Path) -> None:
    sentences = orchestration.write_corpus(tmp_path, 1)
    job = {
        "stage": "dependencies",
        "parser": "none",
        "sentences": str(sentences),
        "output": str(tmp_path / "parsed"),
        "number": 0,
        "costs": str(tmp_path),
    }

    execute(job, lambda *_: None)

    rows = read_shard(tmp_path / "parsed", "dependencies", 0).to_pylist()
    assert [row["heads"] for row in rows] == [[0, 1, 2, 3]]
    assert float((tmp_path / "00000").read_text()) > 0


@pytest.mark.parametrize("arguments", [("--shards", "0"), ("--workers", "0")])
def test_numbers_below_one_are_refused(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert orchestration.main(arguments) == 2
    assert f"{arguments[0]} must be at least 1" in capsys.readouterr().err


@on_ray
def test_every_design_parses_every_shard_once(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ray")
    designs = ("--designs", "local", "ray", "threads")
    assert orchestration.main(("--shards", "3", "--workers", "2", *designs)) == 0
    lines = capsys.readouterr().out.splitlines()
    figures = json.loads(lines[-1])
    for cost in (figures, figures["ray"], figures["threads"]):
        assert cost["noop_seconds"] > 0
        assert 0 < cost["overhead_seconds"] <= cost["wall_seconds"]
        assert cost["overhead_cpu_seconds"] > 0
    assert (figures["shards"], figures["workers"]) == (3, 2)
    assert all(any(line.startswith(f"| {name} ") for line in lines) for name in DESIGNS.values())
