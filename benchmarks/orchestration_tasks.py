"""The stage that the orchestration benchmark has Luigi run, in several designs.

All are the real `ParseDependencies` with its digests, manifests and checks of completeness; only
the parser in the jobs is trivial, and the CPU time of their processes is noted.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import luigi

from benchmarks.timed_command import children_cpu_seconds
from tasks.parsing import ParseDependencies, ParseShard

COSTS_FOLDER = "costs"
"""In the work folder: CPU seconds of each job, named by its first shard."""
DRIVER_COST = "driver"
"""File there: CPU seconds of the process that hands out the jobs."""


class ParseShardTrivially(ParseShard):
    """Runs the benchmark's job on a range of shards; Luigi runs one at a time in a process."""

    job_module = "benchmarks.orchestration_job"

    def run(self) -> None:
        """Runs the job; notes its CPU time from outside, its end included."""
        before = children_cpu_seconds()
        super().run()
        cost = Path(self.options["costs"]) / f"{self.number:05d}"
        cost.write_text(f"{children_cpu_seconds() - before}\n", encoding="ascii")


class ParseTrivially(ParseDependencies):
    """The stage as it is: a job a range of shards, on Luigi's workers or on Ray."""

    shard_task = ParseShardTrivially

    @property
    def costs(self) -> Path:
        """Folder of what jobs took."""
        return Path(self.work_folder).absolute() / COSTS_FOLDER

    @property
    def job_options(self) -> dict[str, Any]:
        """Returns how shards are parsed, and where jobs note their CPU time."""
        return super().job_options | {"costs": str(self.costs)}

    def run(self) -> Iterator[Any]:
        """Runs the stage; notes what this process took of it, as the jobs do of themselves."""
        self.costs.mkdir(exist_ok=True)
        before = time.process_time()
        yield from super().run()
        note = f"{time.process_time() - before}\n"
        (self.costs / DRIVER_COST).write_text(note, encoding="ascii")


class ParseTriviallyInOneTask(ParseTrivially):
    """The alternative: one Luigi task, whose threads each start one job after the other."""

    jobs_at_once = luigi.IntParameter(significant=False, description="Threads, of one job each.")

    def run(self) -> Iterator[Any]:
        """Runs the shards that the stage would have Luigi run, then goes on as the stage does."""
        for shards in super().run():
            with ThreadPoolExecutor(self.jobs_at_once) as threads:
                list(threads.map(self._run_shard, shards))
        yield from ()  # what Luigi runs is a generator, whatever it yields

    def _run_shard(self, shard: ParseShard) -> None:
        # Luigi gives these to the task that it runs itself.
        shard.set_status_message = self.set_status_message
        shard.set_progress_percentage = self.set_progress_percentage
        ParseShard.run(shard)
