"""The trainer's command line: ``python -m models.train JOB.json``, in a process of its own.

JOB.json holds ``config`` (`TrainingConfig`), ``corpus`` (folders by stage), ``vectors``, ``out``
and optionally ``settings``: the fields of `RunSettings` and ``threads`` (by default one a core).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.job import Progress, run_from_command_line

SECONDS_BETWEEN_REPORTS = 0.5


def execute(job: Mapping[str, Any], progress: Progress) -> None:
    """Trains as a job says; see `models.trainer.train`.

    Raises:
        ValueError: the job lacks a part, or what it asks for cannot be.
    """
    settings = dict(job.get("settings", {}))
    threads = settings.pop("threads", None)
    # Both are read when torch is first imported, which is below. A waiting thread that spins takes
    # the core from the one it waits for: on two busy cores 30 sentences/s, without spinning 500.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if threads:
        os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(threads)
    from models.parsed_corpus import CorpusFolders
    from models.trainer import RunSettings, train
    from models.training_config import TrainingConfig

    try:
        folders = CorpusFolders(**{stage: Path(path) for stage, path in job["corpus"].items()})
        config = TrainingConfig.from_dict(job["config"])
        vectors, out = Path(job["vectors"]), Path(job["out"])
        run_settings = RunSettings(**settings)
    except KeyError as error:
        raise ValueError(f"the training job lacks {error}") from error
    except TypeError as error:
        raise ValueError(f"the training job holds something unknown: {error}") from error
    train(config, folders, vectors, out, settings=run_settings, on_progress=_Throttled(progress))


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
    sys.exit(run_from_command_line(execute))
