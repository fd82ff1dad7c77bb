"""One training job as several processes: torchrun's agent, its ranks, and what each may use.

The threads are set before torch, which reads their number, is imported: so this module imports it
where it is used.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from treeviews.pipeline.base.job import end_in_words
from treeviews.pipeline.base.job_server import THREAD_VARIABLES
from treeviews.pipeline.base.machine import available_cores
from treeviews.pipeline.base.settings import Count, Option, Settings, at_least
from treeviews.pipeline.base.watched import watched

logger = logging.getLogger(__name__)


class LaunchSettings(Settings):
    """How many processes train, and with how many threads."""

    called: ClassVar[str] = "launch setting"

    threads: Annotated[int | None, at_least(1)] = None
    """CPU threads of all processes of a machine together; by default one a core."""
    processes: Annotated[Count, Option(is_significant=False)] = 1
    """Number of processes that train together, each on a part of every batch; on cuda, each uses a
    device of its own."""


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


def launch(module: str, arguments: Sequence[str], settings: LaunchSettings) -> None:
    """Runs a module in several processes under torchrun's agent.

    They inherit standard output: the first rank's progress lines are the job's. All end with this
    process. If one is killed, all start again from the last checkpoint, once. The agent restarts
    nothing, since it would repeat a mistake as well: a process that says why it fails will say so
    again.

    Raises:
        RuntimeError: a process was killed again.
        SystemExit: a process failed, with its own code; it has said why on standard error.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # each sets its own; torchrun warns if it is not
    from torch.distributed import run as torchrun
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    how = ["--standalone", f"--nproc-per-node={settings.processes}", "--max-restarts=0"]
    how += ["--no-python", sys.executable, "-u"]
    for is_last in (False, True):
        try:
            torchrun.run(torchrun.parse_args([*how, *watched(module, *arguments)]))
            return
        except ChildFailedError as error:
            first = error.get_first_failure()
            # Ranks that lose a killed one fail within milliseconds, so it need not be the first
            # that the agent sees; and the agent ends the rest by SIGTERM, which then says nothing.
            killed = [
                f"rank {rank} of {settings.processes} {end_in_words(failure.exitcode)}"
                for rank, failure in (first, *error.failures.items())
                if failure.exitcode < 0
                and (failure.exitcode != -signal.SIGTERM or failure is first[1])
            ]
            if not killed:
                raise SystemExit(first[1].exitcode) from error
            if is_last:
                raise RuntimeError(
                    f"{killed[0]}; run again to go on from the last checkpoint"
                ) from error
            logger.warning("%s; all start again from the last checkpoint", killed[0])


def set_threads(threads: int | None, place: Place) -> None:
    """Sets this process' share of the threads; called before torch, which reads it, is imported."""
    # A waiting thread that spins takes the core from the one it waits for: on two busy cores 30
    # sentences/s, without spinning 500.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if threads is None and place.local_size > 1:
        threads = available_cores()
    if threads is not None:
        share = max(1, threads // place.local_size)
        os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(share)))


def device_of(device: str, place: Place) -> str:
    """Returns the device of one process among several: on cuda one of its machine for itself.

    Raises:
        ValueError: no such device, or processes would share one.
    """
    import torch

    from treeviews.pipeline.parsers.devices import resolve_device

    device = resolve_device(device)
    kind, _, index = device.partition(":")
    if kind == "cpu" or place.size == 1 or (index and place.local_size == 1):
        return device
    if index or place.local_size > torch.cuda.device_count():
        raise ValueError(
            f"device is {device} for {place.local_size} processes of a machine that has "
            f"{torch.cuda.device_count()} CUDA devices; each process needs its own: give cuda, and "
            "no more processes than devices"
        )
    return f"cuda:{place.local_rank}"
