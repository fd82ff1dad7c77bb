"""Shard jobs as tasks of a Ray cluster. The one file that imports ray."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import ray

from treeviews.pipeline.base.job import JobKilledError
from treeviews.pipeline.base.machine import available_cores
from treeviews.pipeline.shards.manifests import most_jobs
from treeviews.pipeline.storage.stored_job import SentFiles, StoredJob

LOCAL = "local"
POLL_SECONDS = 1.0
CPUS_PER_JOB = 1
MOST_RETRIES = 3
"""How often a job is begun again whose machine or process died or whose storage failed."""
STORE_BYTES = 128 << 20
"""Ray's shared memory on this machine beside the parser's files: Ray asks for 75 MiB at least."""


def run_on_ray(
    work: Callable[[StoredJob, SentFiles], int],
    jobs_for: Callable[[int], Sequence[StoredJob]],
    files: SentFiles,
    on_done: Callable[[StoredJob], None],
    *,
    address: str,
    gpus_per_job: float = 0.0,
) -> None:
    """Submits all jobs at once and waits for them.

    A job that fails does not end the others: what they make is kept, and the next run has only
    the failed ones left.

    Args:
        work: does a job on whatever machine.
        jobs_for: given how many there may be at most, returns the jobs.
        files: sent to each machine once, such as a parser's.
        on_done: called with each finished job, in the order they finish.
        address: ``auto``, ``host:port``, or ``local``: one of this machine for the time of the
            stage.
        gpus_per_job: part of a GPU that a job takes beside its CPU: with 0.25, four share one.

    Raises:
        ConnectionError: there is no such cluster.
        ValueError: none of its machines can ever run a job; names what it takes and they have.
        RuntimeError: jobs failed; names their shards and why the first did.
    """
    failures: dict[int, str] = {}
    with _connected(address, sum(map(len, files.values()))):
        _check_feasible(gpus_per_job)
        task = ray.remote(work).options(
            num_cpus=CPUS_PER_JOB,
            num_gpus=gpus_per_job,
            max_retries=MOST_RETRIES,
            retry_exceptions=[JobKilledError, OSError],
        )
        cores = sum(machine.get("CPU", 0) for machine in _machines())
        jobs = jobs_for(most_jobs(round(cores)))
        sent = ray.put(files)
        pending = {task.remote(job, sent): job for job in jobs}
        while pending:
            done, _ = ray.wait(list(pending), num_returns=len(pending), timeout=POLL_SECONDS)
            for reference in done:
                job = pending.pop(reference)
                try:
                    ray.get(reference)
                    on_done(job)
                except (ray.exceptions.RayError, OSError, ValueError) as error:
                    failures[job.number] = _reason(error)
    if failures:
        first = min(failures)
        raise RuntimeError(
            f"{len(failures)} of {len(jobs)} shard jobs failed: "
            f"{', '.join(map(str, sorted(failures)))}; the others are kept; shard {first}: "
            f"{failures[first]}"
        )


@contextmanager
def _connected(address: str, parser_bytes: int) -> Iterator[None]:
    """Connects this process to a cluster for the time of a ``with`` block.

    Raises:
        ConnectionError: there is none; names the remedy.
    """
    try:
        if address == LOCAL:
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            ray.init(
                address=LOCAL,
                num_cpus=available_cores(),
                object_store_memory=STORE_BYTES + 2 * parser_bytes,
                include_dashboard=False,
                log_to_driver=False,
            )
        else:
            ray.init(address=address, log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ConnectionError(
            f"no Ray cluster at {address!r} ({error}): start one with `ray start --head` here and "
            "`ray start --address HOST:PORT` on the other machines, or use --ray-address local"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()  # ends the tasks that still run, too


def _check_feasible(gpus_per_job: float) -> None:
    """Checks that some machine of the connected cluster has what a job takes: Ray would wait.

    Raises:
        ValueError: none has; names both.
    """
    has = [(machine.get("CPU", 0), machine.get("GPU", 0)) for machine in _machines()]
    if not any(cpus >= CPUS_PER_JOB and gpus >= gpus_per_job for cpus, gpus in has):
        have = "; ".join(f"{cpus:g} CPUs and {gpus:g} GPUs" for cpus, gpus in has)
        raise ValueError(
            f"a shard job takes {CPUS_PER_JOB} CPU and {gpus_per_job:g} GPUs, and no machine of "
            f"the Ray cluster has these (they have {have}): lower --gpus-per-job, or start Ray on "
            "a machine that has them"
        )


def _machines() -> list[dict[str, float]]:
    """Returns what each machine of the connected cluster has, by kind."""
    return [node["Resources"] for node in ray.nodes() if node["Alive"]]


def _reason(error: Exception) -> str:
    """Returns what a job died of, without Ray's traceback around it."""
    cause = getattr(error, "cause", None) or error
    if getattr(cause, "is_told", False):
        return str(cause)
    return f"{type(cause).__name__}: {cause}"
