"""The trainer's command line: ``python -m models.train JOB.json``, in a process of its own.

JOB.json holds ``config`` (`TrainingConfig`), ``corpus`` (folders by stage), ``vectors``, ``out``
and optionally ``parsers`` (folders by parse stage, for the model to find them again), ``settings``
(`RunSettings`) and ``launch`` (`LaunchSettings`).

With more than one process the command becomes torchrun's agent, which starts it once a rank.
Several machines train together by calling torchrun on each, ``torchrun --nnodes=… -m models.train
JOB.json``, with ``out`` in a folder that all of them see; ``launch`` then gives the threads alone.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from models.training.launching import LaunchSettings, Place, device_of, launch, set_threads
from models.training.settings import RunSettings
from pipeline.job import Progress, end_with_parent, run_from_command_line

if TYPE_CHECKING:
    from models.training.job import TrainingJob

SECONDS_BETWEEN_REPORTS = 0.5


def main() -> int:
    """Trains as one process, or as all of those that the job asks for; returns the exit code."""
    place = Place.from_environment(os.environ)
    if place is None:
        return run_from_command_line(_execute_or_launch)
    # torchrun ends its children unless it is killed outright.
    end_with_parent(os.getppid())
    code = run_from_command_line(
        lambda job, progress: execute(job, progress, place), part=f"rank-{place.rank}"
    )
    # Threads of Gloo's outlive its process group; one that frees its last tensor while Python
    # is torn down aborts the process, whose work is done (pytorch/pytorch pull request 179291).
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _execute_or_launch(job: Mapping[str, Any], progress: Progress) -> None:
    settings = LaunchSettings.from_dict(job.get("launch", {}))
    if settings.processes == 1:
        execute(job, progress)
    else:
        launch("models.train", sys.argv[1:], settings)


def execute(job: Mapping[str, Any], progress: Progress, place: Place | None = None) -> None:
    """Trains as a job says; see `models.training.trainer.train`.

    Args:
        place: this process' among several; only the first reports progress.

    Raises:
        ValueError: the job lacks a part, or what it asks for cannot be.
    """
    place = place or Place()
    set_threads(LaunchSettings.from_dict(job.get("launch", {})).threads, place)
    import torch

    from models.ranks import joined_ranks
    from models.training.trainer import train

    training = _read(job)
    settings = RunSettings.from_dict(job.get("settings", {}))
    settings = replace(settings, device=device_of(settings.device, place))
    device = torch.device(settings.device)
    report = _Throttled(progress) if place.rank == 0 else None
    with joined_ranks(rank=place.rank, size=place.size, device=device) as ranks:
        train(training, settings=settings, on_progress=report, ranks=ranks)


def _read(job: Mapping[str, Any]) -> TrainingJob:
    """Returns what a job file says of the training itself.

    Raises:
        ValueError: a part is missing, unknown or wrong.
    """
    from models.corpus.parsed_corpus import CorpusFolders
    from models.training.job import TrainingJob
    from models.training_config import TrainingConfig

    try:
        return TrainingJob(
            TrainingConfig.from_dict(job["config"]),
            CorpusFolders(**{stage: Path(path) for stage, path in job["corpus"].items()}),
            Path(job["vectors"]),
            Path(job["out"]),
            {stage: Path(path) for stage, path in job.get("parsers", {}).items()},
        )
    except KeyError as error:
        raise ValueError(f"the training job lacks {error}") from error
    except TypeError as error:
        raise ValueError(f"the training job holds something unknown: {error}") from error


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
    sys.exit(main())
