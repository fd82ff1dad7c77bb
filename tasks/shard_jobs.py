"""The task that has some shards of a stage made by one job, in a process of its own."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, TypeVar

import luigi

from pipeline.base.atomic_files import RUN_LOCK, locked_if_free, write_bytes_atomically
from pipeline.base.bundled import how_to_install
from pipeline.base.job import JobFailedError
from pipeline.shards.manifests import ShardRange, read_shard_manifest
from tasks.artefact import ReportingTask, run_job

RANGES_NAME = "ranges"
"""File beside those of the jobs: the ranges that were handed out last, as [[first, count], …]."""


class ShardJob(ReportingTask):
    """Makes the shards of a range one after the other; a kill costs the one in hand."""

    job_module: ClassVar[str]
    """What runs as the job's process; takes the job file that `job` describes."""

    destination = luigi.PathParameter(description="Folder of the shards that are made.")
    number = luigi.IntParameter(description="Number of the first shard.")
    count = luigi.IntParameter(default=1, description="How many shards, one after the other.")

    def output(self) -> luigi.LocalTarget:
        """Returns the last shard's manifest, which is written last."""
        last = self.number + self.count - 1
        return luigi.LocalTarget(str(self.destination / f"{last:05d}.json"))

    def is_made(self, number: int) -> bool:
        """Returns whether a shard stands: its manifest and its rows."""
        return read_shard_manifest(self.destination, number) is not None

    def is_over(self) -> bool:
        """Returns whether the stage is complete, so that no shard is missing."""
        return False

    def complete(self) -> bool:
        """Returns whether all shards stand, or the stage has what it needs without them."""
        return self._stands(ShardRange(self.number, self.count)) or self.is_over()

    def _stands(self, run: ShardRange) -> bool:
        return all(map(self.is_made, range(run.number, run.number + run.num_shards)))

    def job(self) -> dict[str, Any]:
        """Returns the content of the job's file but for the shards' numbers."""
        raise NotImplementedError(f"{type(self).__name__} must define job()")

    def run(self) -> None:
        """Runs the job on one thread; alone at these shards.

        Where another run is at them, this one meanwhile makes others that nobody is at.
        """
        own = ShardRange(self.number, self.count)
        with self.held(self.destination / RUN_LOCK, shared=True):  # who sweeps it holds it alone
            if self.is_over() or self._make_if_free(own):
                return
            self._help(own)
            with self.held(self._lock(own)):
                if not self._stands(own):
                    self._make(own)

    def _help(self, own: ShardRange) -> None:
        """Makes others' ranges until its own stands; a failure ends it, of which its task tells."""
        with suppress(JobFailedError):
            for other in self._others():
                if self._stands(own):
                    return
                self._make_if_free(other)

    def _others(self) -> list[ShardRange]:
        """Returns all ranges that were handed out, each run's in an order of its own."""
        path = self.destination / "jobs" / RANGES_NAME
        try:
            ranges = [ShardRange(*values) for values in json.loads(path.read_bytes())]
        except (OSError, ValueError, TypeError):  # then this one waits for its own
            return []
        random.shuffle(ranges)
        return ranges

    def _make_if_free(self, run: ShardRange) -> bool:
        """Makes shards unless another run is at them; returns whether they stand."""
        if self._stands(run):
            return True
        with locked_if_free(self._lock(run)) as free:
            if free and not self._stands(run):
                self._make(run)
        return free

    def _lock(self, run: ShardRange) -> Path:
        return Path(self.destination) / "jobs" / f"{run.number:05d}.lock"

    def _make(self, run: ShardRange) -> None:
        job = {**self.job(), "number": run.number, "count": run.num_shards}
        path = self.destination / "jobs" / f"{run.number:05d}.json"
        run_job(self, self.job_module, job, path, threads=1)


J = TypeVar("J", bound=ShardJob)


def handed_out(tasks: list[J]) -> list[J]:
    """Returns the tasks of a stage after noting their ranges for other runs that help."""
    if tasks:
        path = tasks[0].destination / "jobs" / RANGES_NAME
        path.parent.mkdir(parents=True, exist_ok=True)
        ranges = [[task.number, task.count] for task in tasks]
        write_bytes_atomically(path, json.dumps(ranges).encode())
    return tasks


def ray_engine() -> ModuleType:
    """Returns what runs jobs on Ray; imported only where it is asked for.

    Raises:
        ModuleNotFoundError: Ray is not installed; names the remedy.
    """
    try:
        from tasks import ray_engine
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise ModuleNotFoundError(
            f"engine is ray, which is not installed: {how_to_install('ray')} here and on the "
            "cluster's machines, or leave engine at local"
        ) from error
    return ray_engine
