"""A training of several processes: started, restarted and ended as one."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.support.parsed_corpora import stories, write_corpus, write_vectors
from tests.support.repository import REPOSITORY
from tests.support.waiting import wait_until
from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.config.training_presets import preset
from treeviews.models.training.launching import Place, device_of, set_threads
from treeviews.models.training.train_views import train
from treeviews.models.training.training_job import RunSettings, TrainingJob, read_metrics
from treeviews.pipeline.base.job_server import THREAD_VARIABLES

CONFIG = preset("laptop", hidden_size=8, epochs=6, batch_size=32)
SECONDS = 300
"""To wait for what takes a few seconds on an idle machine."""

RUN_JOB = """
import json, sys
from pathlib import Path
from treeviews.pipeline.base.job import run_job_process

def report(fraction, status):
    print(status, flush=True)

path = Path(sys.argv[1])
run_job_process("treeviews.models.train", json.loads(path.read_text()), path, report, threads=1)
"""


class Training:
    """A corpus and the jobs that train on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folders = write_corpus(folder / "corpus", stories(64), rows_per_shard=200)
        self.vectors = write_vectors(folder / "vectors")

    def job(
        self,
        name: str,
        config: TrainingConfig = CONFIG,
        *,
        processes: int = 2,
        **settings: Any,
    ) -> Path:
        path = self.folder / f"{name}.json"
        stages = ("sentences", "dependencies", "constituents")
        job = {
            "config": config.to_dict(),
            "corpus": {stage: str(getattr(self.folders, stage)) for stage in stages},
            "vectors": str(self.vectors),
            "out": str(self.folder / name),
            "launch": {"threads": 2, "processes": processes},
            "settings": {"gemm": "default", **settings},
        }
        path.write_text(json.dumps(job), encoding="utf-8")
        return path

    def losses(self, name: str) -> list[float]:
        records = list(read_metrics(self.folder / name / "metrics.jsonl"))
        return [record["loss"] for record in records]

    def steps(self, name: str) -> int:
        path = self.folder / name / "metrics.jsonl"
        return path.read_bytes().count(b'"train"') if path.exists() else 0


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Training:
    return Training(tmp_path_factory.mktemp("training"))


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=REPOSITORY,
        env={
            **{name: v for name, v in os.environ.items() if not name.startswith("TREEVIEWS_")},
            "PYTHONPATH": str(REPOSITORY),
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(scope="module")
def undisturbed(training: Training) -> subprocess.CompletedProcess[str]:
    """What a training of two processes said; its results stand in the folder ``two``."""
    process = start("-m", "treeviews.models.train", str(training.job("two")))
    output, errors = process.communicate(timeout=SECONDS)
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


@pytest.mark.slow
def test_two_processes_learn_what_one_learns(
    training: Training, undisturbed: subprocess.CompletedProcess[str]
) -> None:
    assert undisturbed.returncode == 0, undisturbed.stderr
    settings = RunSettings(gemm="default")
    torch.set_num_threads(1)  # so small products are the slower for a second thread
    out = training.folder / "one"
    train(
        TrainingJob(
            config=CONFIG,
            corpus=training.folders,
            vectors=training.vectors,
            out=out,
            settings=settings,
        )
    )

    expected = training.losses("one")
    assert len(expected) > 60
    # Adam divides by the gradient's size, so rounding in another order grows from step to step.
    assert training.losses("two") == pytest.approx(expected, rel=1e-4)


@pytest.mark.slow
def test_a_killed_rank_changes_nothing(
    training: Training, undisturbed: subprocess.CompletedProcess[str]
) -> None:
    name = "killed"
    job = training.job(name, checkpoint_every_steps=4)
    process = start("-m", "treeviews.models.train", str(job))
    wait_until(lambda: training.steps(name) >= 10, seconds=SECONDS)

    os.kill(children_of(process.pid)[1], signal.SIGKILL)
    assert not (training.folder / name / "summary.json").exists()
    _, errors = process.communicate(timeout=SECONDS)

    assert process.returncode == 0, errors
    assert training.losses(name) == training.losses("two")
    expected = load_file(training.folder / "two" / "model.safetensors")
    found = load_file(training.folder / name / "model.safetensors")
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], value) for name, value in expected.items())


@pytest.mark.slow
def test_a_mistake_is_named_by_the_ranks_once_and_not_again_by_their_parent(
    training: Training,
) -> None:
    job = training.job("mistaken")
    value = json.loads(job.read_text(encoding="utf-8"))
    value["config"]["views"] = ["SEQ", "AMR"]
    job.write_text(json.dumps(value), encoding="utf-8")

    process = start("-m", "treeviews.models.train", str(job))
    _, errors = process.communicate(timeout=SECONDS)

    assert process.returncode == 2
    refusals = r"ValueError: views must be one or two of .*json\.rank-(\d)\.traceback"
    ranks = re.findall(refusals, errors)
    assert ranks
    assert len(ranks) == len(set(ranks))  # a restart would have said it again
    for rank in ranks:
        trace = job.with_name(f"{job.name}.rank-{rank}.traceback.txt")
        assert "views must be" in trace.read_text(encoding="utf-8")
    assert "Traceback" not in errors
    assert "ChildFailedError" not in errors


@pytest.mark.slow
@pytest.mark.parametrize("killed", ["holder", "launcher"])
def test_all_processes_end_with_any_of_their_ancestors(training: Training, killed: str) -> None:
    """The holder waits for a job, whose server is its child; the job launches the ranks."""
    config = preset("laptop", hidden_size=8, epochs=5000)
    job = training.job(f"orphaned-by-{killed}", config)
    holder = start("-c", RUN_JOB, str(job))
    wait_until(lambda: training.steps(f"orphaned-by-{killed}") >= 2, seconds=SECONDS)
    (server,) = children_of(holder.pid)
    (launcher,) = children_of(server)
    ranks = children_of(launcher)
    assert len(ranks) == 2

    os.kill(holder.pid if killed == "holder" else launcher, signal.SIGKILL)
    _, errors = holder.communicate(timeout=SECONDS)

    wait_until(
        lambda: not any(is_alive(process) for process in (launcher, *ranks)), seconds=SECONDS
    )
    if killed == "launcher":
        assert "JobKilledError: treeviews.models.train was ended by SIGKILL, most often" in errors


@pytest.fixture
def threads_of_before(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*THREAD_VARIABLES, "OMP_WAIT_POLICY"):
        monkeypatch.setenv(name, "as it was")


@pytest.mark.usefixtures("threads_of_before")
@pytest.mark.parametrize(
    ("threads", "size", "expected"), [(6, 1, "6"), (6, 2, "3"), (1, 2, "1"), (None, 1, "as it was")]
)
def test_processes_share_the_threads(threads: int | None, size: int, expected: str) -> None:
    set_threads(threads, Place(size=size, local_size=size))

    assert {os.environ[name] for name in THREAD_VARIABLES} == {expected}


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("cuda", "device 'cuda': torch .* finds 0 CUDA devices on this machine"),
        ("gpu", "unknown device 'gpu'; known: auto, cpu, cuda"),
    ],
)
def test_a_device_that_is_not_there_is_named(
    device: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)

    with pytest.raises(ValueError, match=message):
        device_of(device, Place())


@pytest.mark.parametrize(
    ("device", "place", "expected"),
    [
        ("cuda", Place(rank=5, size=8, local_rank=1, local_size=2), "cuda:1"),
        ("cuda", Place(rank=1, size=2, local_rank=0, local_size=1), "cuda:0"),
        ("cuda:1", Place(rank=1, size=2, local_rank=0, local_size=1), "cuda:1"),
        ("cuda:1", Place(), "cuda:1"),
        ("cuda", Place(), "cuda"),
        ("cpu", Place(rank=1, size=3, local_rank=1, local_size=3), "cpu"),
    ],
)
def test_each_process_takes_a_device_of_its_own(
    device: str, place: Place, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)

    assert device_of(device, place) == expected


def test_a_place_is_taken_from_torchrun_alone() -> None:
    told = {"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}

    assert Place.from_environment(told) is None
    found = Place.from_environment(told | {"TORCHELASTIC_RUN_ID": "x"})
    assert found == Place(rank=3, size=4, local_rank=1, local_size=2)


def children_of(parent: int) -> list[int]:
    """Returns the ids of a process' children, in ascending order."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        state = state_of(int(path.name))
        if state is not None and int(state[1]) == parent:
            found.append(int(path.name))
    return sorted(found)


def is_alive(process: int) -> bool:
    state = state_of(process)
    return state is not None and state[0] != "Z"


def state_of(process: int) -> list[str] | None:
    """Returns a process' state, its parent's id and more, or None if it is gone."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text.rsplit(")", 1)[1].split()
