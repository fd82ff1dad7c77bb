"""What a person reads on Luigi's page and on TensorBoard's."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import luigi
import pytest
from luigi.scheduler import Scheduler
from luigi.task_register import load_task
from luigi.worker import Worker

from tasks import RunAll, TrainEncoders


def on_page(task: luigi.Task, scheduler: Scheduler) -> dict[str, Any]:
    """Returns the parameters that Luigi's page shows of a task that a worker has announced."""
    worker = Worker(scheduler=scheduler)
    worker.add(task)
    shown: dict[str, Any] = scheduler.task_list("", "")[task.task_id]["params"]
    return shown


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("A sentence stands here. Another one follows it.", encoding="utf-8")
    return path


def test_a_task_is_made_anew_from_what_the_scheduler_holds(tmp_path: Path, text: Path) -> None:
    scheduler = Scheduler()
    task = RunAll(source="files", paths=str(text), work_folder=tmp_path, changes={"epochs": 1})
    on_page(task, scheduler)
    held = scheduler._state.get_task(task.task_id)
    again = load_task(None, held.family, held.params)
    assert again.param_kwargs == task.param_kwargs


def test_trainings_have_names_to_tell_them_apart_on_tensorboards_page(
    tmp_path: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs: list[dict[str, Any]] = []
    monkeypatch.setattr(
        "tasks.training.run_job", lambda task, module, job, path, *, threads: jobs.append(job)
    )
    for seed, more in ((0, {}), (1, {}), (0, {"preset": "B-D"})):
        TrainEncoders(
            work_folder=tmp_path, source="files", paths=str(text), seed=seed, **more
        ).run()
    folders = [Path(job["settings"]["tensorboard_folder"]) for job in jobs]
    assert {folder.parent for folder in folders} == {tmp_path / "tensorboard"}
    forms = ("DEP-CONST_laptop_seed0", "DEP-CONST_laptop_seed1", "SEQ-LIN-discriminative_B-D_seed0")
    for folder, form in zip(folders, forms, strict=True):
        assert re.fullmatch(f"{form}_[0-9a-f]{{6}}", folder.name)
