"""The projection of parsing times, against cases that can be counted by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from benchmarks import projection
from benchmarks.projection import MeasuredCosts, makespan, project, shard_rows

COSTS = MeasuredCosts(
    rates=(1000.0, 500.0),
    core_efficiency=0.5,
    start_seconds=2.0,
    orchestration_seconds=0.25,
    bytes_per_sentence=100.0,
    split_rate=8_000.0,
    survey_bytes_per_second=1e6,
)


def test_shards_grow_as_the_sentence_stage_grows_them_and_the_last_takes_the_rest() -> None:
    assert shard_rows(30_000) == [4000] * 4 + [8000, 6000]
    assert shard_rows(9_000, max_rows=4000) == [4000, 4000, 1000]
    assert sum(shard_rows(40_000_000)) == 40_000_000


def test_each_job_goes_to_the_core_that_is_free_first() -> None:
    assert makespan([3, 1, 1, 1, 2], num_cores=2) == 5
    assert makespan([3, 1], num_cores=8) == 3


def test_one_core_does_everything_one_after_the_other() -> None:
    one = project(8_000, 1, 1, COSTS)
    assert one.num_shards == 2
    assert one.orchestration_seconds == 4 * 0.25
    assert one.split_seconds == 1 + 2  # reads a megabyte, then splits at half the rate
    assert one.seconds == 3 + 2 * (8 + 16) + 4 * 2 + 1
    assert one.busy_share == pytest.approx(48 / 60)
    assert one.num_bytes == 800_000


def test_more_cores_than_shards_are_of_no_use() -> None:
    assert project(8_000, 1, 4, COSTS).seconds == 1 + 1 + 16 + 2 + 1
    assert project(8_000, 64, 4, COSTS).seconds == 1 + 1 + 16 + 2 + 1


def test_the_table_has_a_row_for_each_corpus_and_number_of_machines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ("--dep-rate", "1000", "--const-rate", "500", "--sentences", "36000000")
    arguments += ("--split-rate", "1e12", "--survey-megabytes", "1e9")
    costs = ("--start-seconds", "0", "--orchestration-seconds", "0", "--cores", "1")
    assert projection.main((*arguments, *costs, "--machines", "1", "2")) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [line for line in lines if line.startswith("|  ")]
    assert len(rows) == 2
    figures = json.loads(lines[-1])
    assert figures["hours_36000000_on_1"] == 30.0
    assert figures["hours_36000000_on_2"] == pytest.approx(15.0, abs=0.1)


@pytest.mark.parametrize(
    ("option", "value"), [("--dep-rate", "0"), ("--machines", "0"), ("--start-seconds", "-1")]
)
def test_numbers_that_cannot_be_are_refused(
    option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("--dep-rate", "900", "--const-rate", "900", "--split-rate", "9", option, value)
    assert projection.main(arguments) == 2
    assert option in capsys.readouterr().err


def test_luigi_hands_out_fewer_jobs_than_a_cluster_has_cores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(projection, "MOST_RANGES", 2)
    costs = replace(COSTS, start_seconds=0.0, orchestration_seconds=0.0, split_rate=1e12)

    ray = project(64_000, 1, 8, costs, max_rows=8_000)
    luigi = project(64_000, 1, 8, costs, engine="luigi", max_rows=8_000)

    assert ray.num_shards == luigi.num_shards == 10
    # five shards a job, the last job's all of 8,000 rows: 40,000 at 250 a second
    assert luigi.seconds - luigi.split_seconds == 40_000 / 250
    assert ray.seconds < luigi.seconds
