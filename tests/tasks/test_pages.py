"""What a person reads on Luigi's page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import luigi
import pytest
from luigi.scheduler import Scheduler
from luigi.task_register import load_task
from luigi.worker import Worker

from treeviews.tasks import RunAll


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
