"""A machine of a live Ray cluster killed in each stage that runs on Ray: same bytes in the end.

The cluster has two machines that parse, and a head that does not. The one with the shard's job is
killed with all of its processes, and another takes its place. A job that ended before the kill is
done once more.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from benchmarks.chaos.same_bytes import differences
from benchmarks.chaos.tiny_run import (
    PROBING_SETTINGS,
    Started,
    TinyRun,
    descendants,
    stage_named,
    undisturbed,
    write_tiny_text,
)
from benchmarks.chaos.trial import Options, Trial
from pipeline.base.bundled import how_to_install

STAGES = (
    "ParseDependencies",
    "ParseConstituents",
    "ParseAlteredDependencies",
    "ParseAlteredConstituents",
)
ROUNDS = 3
JOB = "pipeline.parsing.parse_shard"
LONGEST_SECONDS = 4.0
"""From the start of a job to the kill, at most."""
TRIES = 8
"""How often a job is waited for until a kill hits it; each time sooner."""
STALL_SECONDS = 300.0
STORE_BYTES = 80 << 20
MACHINE = {
    "object_store_memory": STORE_BYTES,
    "include_log_monitor": False,  # Ray gives its agents 15 s to start: little on a busy machine
    "no_monitor": True,
}
HEALTH = {"health_check_period_ms": 1000, "health_check_failure_threshold": 10}


def trials(options: Options) -> Iterator[Trial]:
    """Parses on a cluster that loses a machine in every stage, so many times over."""
    try:
        import ray  # noqa: F401
    except ModuleNotFoundError:
        yield Trial("a cluster", False, f"could not be tried: {how_to_install('ray')}")
        return
    stages: Sequence[str] = STAGES
    root: tuple[str, ...] = ("BuildProbing", *PROBING_SETTINGS)
    rounds = ROUNDS
    if options.quick:
        stages, root, rounds = STAGES[:1], STAGES[:1], 1
    text = write_tiny_text(options.work / "text", documents=2 if options.quick else 12)
    run = TinyRun(text, options.work / "run", options.work / "logs", ("--workers", "1"))
    undisturbed(run, [root])
    run.work.rename(options.work / "undisturbed")
    moments = random.Random(options.seed)
    for number in range(1, rounds + 1):
        with _Cluster.started() as cluster:
            run.more = ("--workers", "1", "--engine", "ray", "--ray-address", cluster.address)
            yield from _round(run, root, stages, cluster, moments)
        different = differences(options.work / "undisturbed", run.work)
        what = f"the bytes after {len(stages)} machines, round {number}"
        yield Trial(what, not different, "; ".join(different) or "the same")
        run.work.rename(options.work / f"round-{number}")


class _Cluster:
    """Two machines that parse, and a head."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster
        self.address: str = cluster.address
        self._machines = [self._add() for _ in range(2)]

    @classmethod
    @contextmanager
    def started(cls) -> Iterator[_Cluster]:
        """Runs a cluster for the time of a ``with`` block."""
        from ray.cluster_utils import Cluster

        head = MACHINE | {"num_cpus": 0, "include_dashboard": False, "_system_config": HEALTH}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        try:
            yield cls(cluster)
        finally:
            cluster.shutdown()

    def working(self) -> int | None:
        """Returns which machine has a job, or None."""
        for place, machine in enumerate(self._machines):
            if any(JOB in process.command for process in descendants(_raylet(machine))):
                return place
        return None

    def kill(self, place: int) -> int:
        """Kills a machine that has a job, and adds another one.

        Returns:
            How many processes it had; 0 where the job is over, and nothing was killed.
        """
        raylet = _raylet(self._machines[place])
        family = descendants(raylet)
        if not any(JOB in process.command for process in family):
            return 0
        for number in (raylet, *(process.number for process in family)):
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        self._machines[place] = self._add()
        return 1 + len(family)

    def _add(self) -> Any:
        return self._cluster.add_node(**MACHINE, num_cpus=1)


def _raylet(machine: Any) -> int:
    number: int = machine.all_processes["raylet"][0].process.pid
    return number


def _round(
    run: TinyRun,
    root: Sequence[str],
    stages: Sequence[str],
    cluster: _Cluster,
    moments: random.Random,
) -> Iterator[Trial]:
    """Runs a task on the cluster and kills a machine in each of its stages."""
    started = run.start(root)
    left = list(stages)
    tries = dict.fromkeys(stages, 0)
    while left:
        found = _wait_for_job(left, started, cluster)
        if found is None:
            yield from (Trial(_what(s), False, f"never had a job: {started.said()}") for s in left)
            break
        stage, place = found
        moment = moments.uniform(0, LONGEST_SECONDS / (1 + tries[stage]))
        tries[stage] += 1
        trial = _kill_in(stage, started, cluster, place, moment)
        if trial is None and tries[stage] == TRIES:
            trial = Trial(_what(stage), False, f"over before each of {TRIES} kills")
        if trial is not None:
            left.remove(stage)
            yield trial
            continue
        started.kill_group()
        for folder in run.work.glob(stage_named(stage).folders):
            shutil.rmtree(folder)
        started = run.start(root)
    started.wait_until(lambda: False, STALL_SECONDS)
    outcome = f"ended with {started.code}: {started.said()}"
    yield Trial(f"{root[0]} on a cluster that lost machines", started.code == 0, outcome)
    started.kill_group()


def _wait_for_job(
    stages: Sequence[str], started: Started, cluster: _Cluster
) -> tuple[str, int] | None:
    """Returns which of the stages runs, in whatever order they do, and the machine with its job.

    Returns:
        Nothing where none of them has a job any more.
    """
    found: tuple[str, int] | None = None

    def has_job() -> bool:
        nonlocal found
        place = cluster.working()
        found = next(
            ((s, place) for s in stages if s in started.running and place is not None), None
        )
        return found is not None

    started.wait_until(has_job, STALL_SECONDS)
    return found


def _what(stage: str) -> str:
    return f"the machine with the job of {stage}"


def _kill_in(
    stage: str, started: Started, cluster: _Cluster, place: int, moment: float
) -> Trial | None:
    """Kills the machine that has the stage's job; the stage must be done all the same.

    Args:
        place: of the machine.
        moment: seconds from the start of the job to the kill.

    Returns:
        Nothing where the job was over before.
    """
    time.sleep(moment)
    started.look()
    num_killed = cluster.kill(place) if stage in started.running else 0
    if not num_killed:
        return None
    killed = f"killed {num_killed} processes"
    is_done = started.wait_until(lambda: stage not in started.running, STALL_SECONDS)
    has_failed = started.failed[stage] > 0
    fate = "done" if is_done and not has_failed else f"not done: {started.said()}"
    return Trial(_what(stage), is_done and not has_failed, f"{killed}; {fate}")
