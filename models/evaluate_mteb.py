"""Evaluates one encoder on MTEB's tasks, whose data lie in a folder of the user's own.

The job is that of ``models.evaluate_tasks`` with MTEB's names as ``tasks`` (or ``["all"]`` that
there are data of), and as ``data`` the folder that has a folder a task::

    {"encoder": "english", "tasks": ["STS17", "Banking77Classification"],
     "data": "mteb", "out": "results/english"}

Results stand beside those of SentEval's tasks, as ``mteb-STS17.json``.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from models.evaluate_tasks import check_folder, evaluation_of
from models.evaluation.tasks.task import MTEB_TASK
from models.mteb.evaluate import evaluate_mteb
from models.mteb.tasks import mteb_task_names
from pipeline.base.job import Progress, run_from_command_line


def divided(names: str, *, senteval: bool) -> tuple[str, tuple[str, ...]]:
    """Returns the tasks of SentEval's data and those of MTEB's, of one list of names.

    Args:
        names: separated by commas. ``mteb-STS17`` is MTEB's; without SentEval's data any name is.
            ``all`` are those of both.
        senteval: whether there are SentEval's data.

    Returns:
        The first as they were given, empty where there are none, and MTEB's.
    """
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    mtebs = tuple(
        one for one in wanted if not senteval or one == "all" or one.startswith(MTEB_TASK)
    )
    ours = [one for one in wanted if senteval and not one.startswith(MTEB_TASK)]
    return ",".join(ours), mtebs


def execute(job: Mapping[str, Any], progress: Progress) -> None:
    """Runs a job; a result is written as soon as it is there.

    Raises:
        FileNotFoundError: data are not there.
        ValueError: mteb is not installed, a setting is out of range, an unknown task, data that
            MTEB cannot read, or a folder that holds results of another evaluation.
    """
    data, out = Path(job["data"]), Path(job["out"])
    names = mteb_task_names(job["tasks"], data)  # before the encoder is loaded
    torch.set_num_threads(int(job.get("threads", 1)))
    with tempfile.TemporaryDirectory() as temporary:
        evaluation = evaluation_of({**job, "parses": job.get("parses") or temporary})
        check_folder(out, (), evaluation)
        evaluate_mteb(evaluation, data, names, out, progress)


if __name__ == "__main__":
    sys.exit(run_from_command_line(execute))
