"""The trainer's command line: ``python -m treeviews.models.train JOB.json``.

JOB.json holds a `TrainingJob`.

With more than one process the command becomes torchrun's agent, which starts it once a rank.
Several machines train together by calling torchrun on each, ``torchrun --nnodes=… -m
treeviews.models.train JOB.json``, with ``out`` in a folder that all of them see; ``launch`` then
gives the threads alone.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from typing import Any

from treeviews.models.training.launching import (
    LaunchSettings,
    Place,
    device_of,
    launch,
    set_threads,
)
from treeviews.pipeline.base.job import Progress, run_from_command_line
from treeviews.pipeline.base.watched import end_with_parent, keep_memory

SECONDS_BETWEEN_REPORTS = 0.5
PRELOADED = ("treeviews.models.training.train_views",)


def main() -> int:
    """Trains as one process, or as all of those that the job asks for; returns the exit code."""
    place = Place.from_environment(os.environ)
    if place is None:
        return run_from_command_line(_execute_or_launch)
    end_with_parent(os.getppid())  # again, for ranks of a torchrun that a user has started
    code = run_from_command_line(
        lambda job, progress: execute(job, progress, place), part=f"rank-{place.rank}"
    )
    # Threads of Gloo's outlive its process group; one that frees its last tensor while Python
    # is torn down aborts the process, whose work is done (pytorch/pytorch pull request 179291).
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _execute_or_launch(job: Mapping[str, Any], progress: Progress) -> None:
    settings = _launch_settings(job)
    if settings.processes == 1:
        execute(job, progress)
    else:
        launch("treeviews.models.train", sys.argv[1:], settings)


def execute(values: Mapping[str, Any], progress: Progress, place: Place | None = None) -> None:
    """Trains as a job says; see `models.training.train_views.train`.

    Args:
        values: fields of a `TrainingJob`.
        place: this process' among several; only the first reports progress.

    Raises:
        ValueError: the job lacks a part, or what it asks for cannot be.
    """
    place = place or Place()
    set_threads(_launch_settings(values).threads, place)
    import torch

    from treeviews.models.model.ranks import join_ranks
    from treeviews.models.training.train_views import train
    from treeviews.models.training.training_job import TrainingJob

    job = TrainingJob.from_dict(values)
    settings = job.settings.changed(device=device_of(job.settings.device, place))
    device = torch.device(settings.device)
    report = _Throttled(progress) if place.rank == 0 else None
    with join_ranks(rank=place.rank, size=place.size, device=device) as ranks:
        train(job.changed(settings=settings), on_progress=report, ranks=ranks)


def _launch_settings(values: Mapping[str, Any]) -> LaunchSettings:
    """Returns these alone: what else a job holds is read when the threads are set."""
    return LaunchSettings.from_dict(values.get("launch", {}))


class _Throttled:
    """Passes progress on, not more often than someone reads it."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._last = -SECONDS_BETWEEN_REPORTS

    def __call__(self, fraction: float, status: str) -> None:
        now = time.monotonic()
        if fraction >= 1 or now - self._last >= SECONDS_BETWEEN_REPORTS:
            self._last = now
            self._progress(fraction, status)


if __name__ == "__main__":
    keep_memory()  # also where a torchrun of the user's own started it
    sys.exit(main())
