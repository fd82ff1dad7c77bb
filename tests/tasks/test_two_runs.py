"""Runs that are at work in one folder: one at a time, and the second takes what the first made."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

import luigi
import pytest

from tests.support.luigi_builds import build
from tests.support.sentence_shards import ChainStage, chain_stage
from tests.support.waiting import wait_until
from treeviews.pipeline.base.atomic_files import RUN_LOCK, locked
from treeviews.pipeline.shards.manifests import manifest_path
from treeviews.tasks.artefact import Artefact


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


@pytest.mark.parametrize("is_made", [True, False])
def test_a_run_that_comes_second_waits_and_does_what_the_first_did_not(
    tmp_path: Path, fills: list[int], is_made: bool
) -> None:
    task, said = Written(work_folder=tmp_path), []
    left = task.folder / "rows.77.unfinished"
    with locked(task.folder / RUN_LOCK, lambda: None):
        left.touch()
        second = start(task, said)
        wait_until(lambda: bool(said))
        assert fills == []
        assert left.exists()  # swept by none who does not hold it
        if is_made:
            (task.folder / task.marker).write_text("{}", encoding="utf-8")
    second.join()

    assert fills == ([] if is_made else [0])
    assert left.exists() == is_made
    assert said[0].startswith(f"{task.folder}: waiting for another run, ")


def test_a_run_that_comes_while_others_make_shards_makes_those_that_nobody_is_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = tmp_path / "journal"
    monkeypatch.setattr(ChainStage, "more_options", {"journal": str(journal)})
    stage = chain_stage(tmp_path, num_shards=2)
    (tmp_path / "elsewhere").mkdir()
    made = chain_stage(tmp_path / "elsewhere", num_shards=2)
    assert build(made)
    journal.unlink()
    left = stage.folder / "00000.parquet.77.unfinished"
    with (
        locked(stage.folder / RUN_LOCK, lambda: None, shared=True),
        locked(stage.folder / "jobs/00000.lock", lambda: None),
    ):
        left.touch()
        stage.set_progress_percentage = lambda percentage: None
        second = start(stage, [])
        wait_until(lambda: manifest_path(stage.folder, 1).exists(), seconds=60)
        assert left.exists()  # swept by none who does not hold the folder alone
        for path in made.folder.glob("00000.*"):
            shutil.copy2(path, stage.folder)
    second.join()

    assert journal.read_text().split() == ["1"]
    assert stage.complete()
