"""Shard jobs on real Ray clusters of this machine, with machines that die and jobs that fail."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.chain_job import ChainParser
from tests.support.luigi_builds import build
from tests.support.ray_tests import MARKS
from tests.support.sentence_shards import ChainStage, chain_stage
from tests.support.waiting import wait_until
from treeviews.pipeline.parsing.parse_shard import ParseJob, parse_shard
from treeviews.pipeline.shards.manifests import (
    read_dataset_manifest,
    read_shard_manifest,
    shard_path,
)

ray = pytest.importorskip("ray")

pytestmark = list(MARKS)

STORE_BYTES = 80 << 20
MACHINE = {
    "num_cpus": 1,
    "object_store_memory": STORE_BYTES,
    "include_log_monitor": False,  # Ray gives its agents 15 s to start: little on a busy machine
    "no_monitor": True,
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster of one machine with one CPU, which misses dead ones after some seconds."""
    from ray.cluster_utils import Cluster

    health = {"health_check_period_ms": 1000, "health_check_failure_threshold": 10}
    head = MACHINE | {"include_dashboard": False, "_system_config": health}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    yield cluster
    cluster.shutdown()


def undisturbed(stage: ChainStage, folder: Path, number: int) -> bytes:
    """Returns the rows that a job makes of a shard which nothing disturbs."""
    job = ParseJob(
        stage="dependencies", sentences=stage.sentences.folder, output=folder, number=number
    )
    parse_shard(job, ChainParser(stage.parser_folder))
    return shard_path(folder, number).read_bytes()


def descendants(process_id: int) -> list[int]:
    """Returns the processes that a process and its children have started."""
    children = []
    for thread in Path(f"/proc/{process_id}/task").glob("*"):
        with contextlib.suppress(OSError):  # has just ended
            children += [int(child) for child in (thread / "children").read_text().split()]
    return children + [process for child in children for process in descendants(child)]


def is_server(process_id: int) -> bool:
    """Whether a process serves jobs, or is a job that was forked from one that does."""
    try:
        return (
            b"treeviews.pipeline.base.job_server"
            in Path(f"/proc/{process_id}/cmdline").read_bytes()
        )
    except OSError:  # has just ended
        return False


def kill_machine(raylet_id: int) -> list[int]:
    """Kills a machine of a cluster in the middle of a shard: its Ray, its workers, its job.

    Returns:
        The processes that were killed.
    """

    def has_jobs() -> bool:
        servers = filter(is_server, descendants(raylet_id))
        return any(is_server(job) for server in servers for job in descendants(server))

    wait_until(has_jobs, seconds=120)
    doomed = [raylet_id, *descendants(raylet_id)]
    for process_id in doomed:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process_id, signal.SIGKILL)
    return doomed


def test_an_address_without_a_cluster_says_how_to_start_one(  # before there is one
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    stage = chain_stage(tmp_path, num_shards=1, engine="ray", ray_address="auto")

    assert not build(stage)

    assert "no Ray cluster at 'auto'" in caplog.text


def test_a_machine_killed_in_the_middle_costs_nothing_but_time(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    doomed = cluster.add_node(**MACHINE)
    raylet_id = doomed.all_processes["raylet"][0].process.pid
    journal = tmp_path / "journal"
    gate = tmp_path / "gate"
    options = {"gate": str(gate), "journal": str(journal)}
    monkeypatch.setattr(ChainStage, "more_options", options)
    stage = chain_stage(
        tmp_path,
        num_shards=6,
        engine="ray",
        ray_address=cluster.address,
        storage=str(tmp_path / "shared"),
    )
    killed: list[int] = []

    def kill_then_open_gate() -> None:
        killed.extend(kill_machine(raylet_id))
        gate.touch()

    killer = threading.Thread(target=kill_then_open_gate)
    killer.start()

    assert build(stage)

    killer.join()
    assert raylet_id in killed
    assert sorted(map(int, journal.read_text().split())) == list(range(6))  # nothing twice
    assert read_dataset_manifest(stage.folder).rows == 18
    shared = tmp_path / "shared" / stage.folder.relative_to(tmp_path / "work")
    rows = [undisturbed(stage, tmp_path / "expected", number) for number in range(6)]
    for folder in (stage.folder, shared):
        assert [shard_path(folder, number).read_bytes() for number in range(6)] == rows
    assert len(list(shared.iterdir())) == 6 * 3 + 1  # rows, quarantine, manifest; no leftovers
    assert build(stage)  # nothing is left to do


def test_a_job_that_fails_costs_only_its_shard(
    cluster: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(ChainStage, "more_options", {"broken": 1})
    stage = chain_stage(tmp_path, num_shards=3, engine="ray", ray_address=cluster.address)

    assert not build(stage)

    error = caplog.text
    assert "1 of 3 shard jobs failed: 1; the others are kept; shard 1: " in error
    assert "broken on purpose" in error
    assert [read_shard_manifest(stage.folder, number) is None for number in range(3)] == [
        False,
        True,
        False,
    ]
    before = shard_path(stage.folder, 0).stat().st_mtime_ns
    monkeypatch.setattr(ChainStage, "more_options", {})
    assert build(stage)  # the next run has one shard to parse
    assert shard_path(stage.folder, 0).stat().st_mtime_ns == before
