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
        return run_from_command_line(execute)
    end_with_parent(os.getppid())  # again, for ranks of a torchrun that a user has started
    code = run_from_command_line(
        lambda job, progress: execute(job, progress, place), part=f"rank-{place.rank}"
    )
    # Threads of Gloo's outlive its process group; one that frees its last tensor while Python
    # is torn down aborts the process, whose work is done (pytorch/pytorch pull request 179291).
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def execute(values: Mapping[str, Any], progress: Progress, place: Place | None = None) -> None:
    """Trains as a job says, in this process or in several; see `models.training.train_views.train`.

    Args:
        values: fields of a `TrainingJob`; those of ``launch`` are read before the others, since
            the threads are set before torch is imported.
        place: this process' among several; only the first reports progress.

    Raises:
        ValueError: the job lacks a part, or what it asks for cannot be.
    """
    settings = LaunchSettings.from_dict(values.get("launch", {}))
    if place is None and settings.processes > 1:
        launch("treeviews.models.train", sys.argv[1:], settings)
        return
    place = place or Place()
    set_threads(settings.threads, place)
    import torch

    from treeviews.models.model.ranks import join_ranks
    from treeviews.models.training.train_views import train
    from treeviews.models.training.training_job import TrainingJob

    job = TrainingJob.from_dict(values)
    run = job.settings.changed(device=device_of(job.settings.device, place))
    report = _Throttled(progress) if place.rank == 0 else None
    with join_ranks(rank=place.rank, size=place.size, device=torch.device(run.device)) as ranks:
        train(job.changed(settings=run), on_progress=report, ranks=ranks)


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
