"""The trainer's command line: ``python -m models.train JOB.json``, in a process of its own.

JOB.json holds ``config`` (`TrainingConfig`), ``corpus`` (folders by stage), ``vectors``, ``out``
and optionally ``settings``: the fields of `RunSettings` and
    ``threads``       CPU threads of all processes together (by default one a core),
    ``processes``     how many train together (1); on cuda each takes a device of its own,
    ``max_restarts``  how often all start again from the checkpoint when one dies (0).

With more than one process the command becomes torchrun's agent, which starts it once a rank.
Several machines train together by calling torchrun on each, ``torchrun --nnodes=… -m models.train
JOB.json``, with ``out`` in a folder that all of them see.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.job import Progress, end_with_parent, run_from_command_line

SECONDS_BETWEEN_REPORTS = 0.5


@dataclass(frozen=True, slots=True)
class Place:
    """Where torchrun has put this process; by default it is alone."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    local_size: int = 1

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Place | None:
        """Returns what torchrun says, or None if the process is not one of its children."""
        if "TORCHELASTIC_RUN_ID" not in environment:
            return None
        names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
        return cls(*(int(environment[name]) for name in names))


def main() -> int:
    """Trains as one process, or as all of those that the job asks for; returns the exit code."""
    place = Place.from_environment(os.environ)
    if place is not None:
        # torchrun ends its children unless it is killed outright.
        end_with_parent(os.getppid())
        code = run_from_command_line(lambda job, progress: execute(job, progress, place))
        # Threads of Gloo's outlive its process group; one that frees its last tensor while Python
        # is torn down aborts the process, whose work is done (pytorch/pytorch pull request 179291).
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return run_from_command_line(_execute_or_launch)


def _execute_or_launch(job: Mapping[str, Any], progress: Progress) -> None:
    settings = job.get("settings", {})
    processes, max_restarts = settings.get("processes", 1), settings.get("max_restarts", 0)
    if processes < 1:
        raise ValueError(f"processes must be 1 or more, not {processes}")
    if max_restarts < 0:
        raise ValueError(f"max_restarts must be 0 or more, not {max_restarts}")
    if processes == 1:
        execute(job, progress)
    else:
        _launch(sys.argv[1:], processes, max_restarts)


def _launch(arguments: list[str], processes: int, max_restarts: int) -> None:
    """Runs this command in several processes under torchrun's agent.

    They inherit standard input and output: the first rank's progress lines are the job's, and all
    end with the holder of the input.

    Raises:
        RuntimeError: a process was killed, once more often than ``max_restarts``.
        SystemExit: a process failed; it has said why on standard error.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # each sets its own; torchrun warns if it is not
    # Else one store serves all restarts, and a new rank may read there where a dead one listened
    # (pytorch/pytorch issue 135712).
    os.environ["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"
    from torch.distributed import run as torchrun
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    how = ["--standalone", f"--nproc-per-node={processes}", f"--max-restarts={max_restarts}"]
    try:
        torchrun.run(torchrun.parse_args([*how, "-m", "models.train", *arguments]))
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        if failure.exitcode >= 0:
            raise SystemExit(1) from error
        raise RuntimeError(
            f"rank {rank} of {processes} was ended by {failure.signal_name()} and max_restarts is "
            f"{max_restarts}; run again to go on from the last checkpoint"
        ) from error


def execute(job: Mapping[str, Any], progress: Progress, place: Place | None = None) -> None:
    """Trains as a job says; see `models.training.trainer.train`.

    Args:
        place: this process' among several; only the first reports progress.

    Raises:
        ValueError: the job lacks a part, or what it asks for cannot be.
    """
    place = place or Place()
    settings = dict(job.get("settings", {}))
    for launching in ("processes", "max_restarts"):
        settings.pop(launching, None)
    set_threads(settings.pop("threads", None), place)
    import torch

    from models.corpus.parsed_corpus import CorpusFolders
    from models.training.config import TrainingConfig
    from models.training.ranks import joined_ranks
    from models.training.settings import RunSettings
    from models.training.trainer import train

    settings["device"] = device_of(settings.get("device", "cpu"), place)
    try:
        folders = CorpusFolders(**{stage: Path(path) for stage, path in job["corpus"].items()})
        config = TrainingConfig.from_dict(job["config"])
        vectors, out = Path(job["vectors"]), Path(job["out"])
        run_settings = RunSettings(**settings)
    except KeyError as error:
        raise ValueError(f"the training job lacks {error}") from error
    except TypeError as error:
        raise ValueError(f"the training job holds something unknown: {error}") from error
    device = torch.device(run_settings.device)
    report = _Throttled(progress) if place.rank == 0 else None
    with joined_ranks(rank=place.rank, size=place.size, device=device) as ranks:
        train(
            config,
            folders,
            vectors,
            out,
            settings=run_settings,
            on_progress=report,
            ranks=ranks,
        )


def set_threads(threads: int | None, place: Place) -> None:
    """Sets this process' share of the threads; called before torch, which reads it, is imported."""
    # A waiting thread that spins takes the core from the one it waits for: on two busy cores 30
    # sentences/s, without spinning 500.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if threads is None and place.local_size > 1:
        threads = os.cpu_count()
    if threads:
        share = str(max(1, threads // place.local_size))
        os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = share


def device_of(device: str, place: Place) -> str:
    """Returns the device of one process among those of a machine.

    Raises:
        ValueError: more processes than devices.
    """
    if device != "cuda" or place.local_size == 1:
        return device
    import torch

    if place.local_size > torch.cuda.device_count():
        raise ValueError(
            f"processes: {place.local_size} on cuda, which has {torch.cuda.device_count()} devices "
            "here; each process needs its own"
        )
    return f"cuda:{place.local_rank}"


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
