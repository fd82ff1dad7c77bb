"""Runs that are at work in one folder: one at a time, and the second takes what the first made."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import luigi
import pytest

from pipeline.base.atomic_files import RUN_LOCK, locked
from pipeline.shards.manifests import ShardRange
from tasks.artefact import Artefact
from tasks.parsing import ParseShard
from tests.support.sentence_shards import chain_stage
from tests.support.shard_files import write_rows
from tests.support.waiting import wait_until


class Written(Artefact):
    """Writes its marker and counts how often."""

    number = luigi.IntParameter(default=0)
    fills: list[int] = []  # noqa: RUF012

    def content(self) -> dict[str, Any]:
        return {"number": self.number}

    def place(self) -> Path:
        return Path(self.work_folder) / "written"

    def fill(self) -> None:
        self.fills.append(self.number)
        self.write_config()
        (self.folder / self.marker).write_text("{}", encoding="utf-8")


def start(task: luigi.Task, said: list[str]) -> threading.Thread:
    task.set_status_message = said.append
    thread = threading.Thread(target=task.run)
    thread.start()
    return thread


@pytest.fixture(autouse=True)
def fills(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    fresh: list[int] = []
    monkeypatch.setattr(Written, "fills", fresh)
    return fresh


def test_a_run_that_comes_second_waits_and_takes_the_result(
    tmp_path: Path, fills: list[int]
) -> None:
    task, said = Written(work_folder=tmp_path), []
    with locked(task.folder / RUN_LOCK, lambda: None):
        second = start(task, said)
        wait_until(lambda: bool(said))
        assert fills == []
        (task.folder / task.marker).write_text("{}", encoding="utf-8")
    second.join()

    assert fills == []
    assert said[0].startswith(f"{task.folder}: waiting for another run, ")


def test_a_run_that_comes_second_does_what_the_first_did_not(
    tmp_path: Path, fills: list[int]
) -> None:
    task, said = Written(work_folder=tmp_path), []
    with locked(task.folder / RUN_LOCK, lambda: None):
        (task.folder / "rows.77.unfinished").touch()
        second = start(task, said)
        wait_until(lambda: bool(said))
        assert (task.folder / "rows.77.unfinished").exists()  # swept by none who does not hold it
    second.join()

    assert fills == [0]
    assert not (task.folder / "rows.77.unfinished").exists()


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the shards that were parsed, in the order of that."""
    numbers: list[int] = []

    def parse(self: ParseShard, run: ShardRange) -> None:
        for number in range(run.number, run.number + run.num_shards):
            numbers.append(number)
            row = {"heads": [0], "deprels": ["root"]}
            write_rows(self.destination, "dependencies", number, [row])

    monkeypatch.setattr(ParseShard, "_make", parse)
    return numbers


def parse_tasks(folder: Path, numbers: Sequence[int], count: int = 1) -> list[ParseShard]:
    return [
        ParseShard(
            stage="dependencies",
            sentences=folder,
            destination=folder / "out",
            number=number,
            count=count,
            parser=folder,
        )
        for number in numbers
    ]


def test_shards_are_parsed_side_by_side_but_none_twice(tmp_path: Path, parsed: list[int]) -> None:
    tasks, said = parse_tasks(tmp_path, (0, 1)), []
    with (
        locked(tmp_path / "out" / RUN_LOCK, lambda: None, shared=True),
        locked(tmp_path / "out/jobs/00000.lock", lambda: None),
    ):
        start(tasks[1], []).join()
        assert parsed == [1]
        other = start(tasks[0], said)
        wait_until(lambda: bool(said))
        tasks[0]._make(ShardRange(0))
    other.join()

    assert parsed == [1, 0]


def test_a_run_that_comes_while_jobs_are_at_work_hands_out_at_once_and_sweeps_nothing(
    tmp_path: Path,
) -> None:
    stage = chain_stage(tmp_path, num_shards=2)
    left = stage.folder / "00000.parquet.77.unfinished"
    with locked(stage.folder / RUN_LOCK, lambda: None, shared=True):
        left.touch()
        stage.set_status_message, stage.set_progress_percentage = print, print
        tasks = next(stage.run())
        assert sorted(task.number for task in tasks) == [0, 1]
        assert left.exists()

    next(stage.run())
    assert not left.exists()
