"""The task that has some shards of a stage made by one job, in a process of its own."""

from __future__ import annotations

import random
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, TypeVar

import luigi

from pipeline.base.atomic_files import RUN_LOCK
from pipeline.base.bundled import how_to_install
from pipeline.shards.manifests import ShardRange, read_shard_manifest
from tasks.artefact import ReportingTask, run_job


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
        """Runs the job on one thread; alone at these shards, which another run may have made."""
        own = ShardRange(self.number, self.count)
        with (
            self.held(self.destination / RUN_LOCK, shared=True),  # who sweeps it holds it alone
            self.held(self._lock(own)),
        ):
            if not self.is_over() and not self._stands(own):
                self._make(own)

    def _lock(self, run: ShardRange) -> Path:
        return Path(self.destination) / "jobs" / f"{run.number:05d}.lock"

    def _make(self, run: ShardRange) -> None:
        job = {**self.job(), "number": run.number, "count": run.num_shards}
        path = self.destination / "jobs" / f"{run.number:05d}.json"
        run_job(self, self.job_module, job, path, threads=1)


J = TypeVar("J", bound=ShardJob)


def handed_out(tasks: list[J], *, alone: bool) -> list[J]:
    """Returns the tasks of a stage; two runs at once begin each with others.

    Args:
        alone: whether no other run is at them.
    """
    return tasks if alone else random.sample(tasks, len(tasks))


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
