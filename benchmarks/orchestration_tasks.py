"""The stage that the orchestration benchmark has Luigi run, in two designs.

Both are the real `ParseDependencies` with its digests, manifests and checks of completeness; only
the parser in the jobs is trivial, and the CPU time of their processes is noted.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import luigi

from benchmarks.timed_command import children_cpu_seconds
from tasks.parsing import ParseDependencies, ParseShard

COST_SUFFIX = ".cpu-seconds"


class ParseShardTrivially(ParseShard):
    """Runs the benchmark's job on a range of shards; Luigi runs one at a time in a process."""

    job_module = "benchmarks.orchestration_job"

    def run(self) -> None:
        """Runs the job and notes its CPU time beside its file, named by the first shard."""
        before = children_cpu_seconds()
        super().run()
        cost = self.destination / "jobs" / f"{self.number:05d}{COST_SUFFIX}"
        cost.write_text(f"{children_cpu_seconds() - before}\n", encoding="ascii")


class ParseTrivially(ParseDependencies):
    """The stage as it is: one Luigi task a range of shards."""

    shard_task = ParseShardTrivially


class ParseTriviallyInOneTask(ParseTrivially):
    """The alternative: one Luigi task, whose threads each start one job after the other."""

    jobs_at_once = luigi.IntParameter(significant=False, description="Threads, of one job each.")

    def run(self) -> None:  # type: ignore[override]  # the stage's own hands its shards to Luigi
        """Runs the shards that the stage would have Luigi run, then goes on as the stage does."""
        before = children_cpu_seconds()
        for shards in super().run():
            with ThreadPoolExecutor(self.jobs_at_once) as threads:
                list(threads.map(self._run_shard, shards))
        cost = self.folder / "jobs" / f"all{COST_SUFFIX}"
        cost.write_text(f"{children_cpu_seconds() - before}\n", encoding="ascii")

    def _run_shard(self, shard: ParseShard) -> None:
        # Luigi gives these to the task that it runs itself.
        shard.set_status_message = self.set_status_message
        shard.set_progress_percentage = self.set_progress_percentage
        ParseShard.run(shard)
