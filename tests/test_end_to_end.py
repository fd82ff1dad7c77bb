"""The main job as a user runs it: whole, again, and killed in the middle of every stage."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.support.repository import REPOSITORY
from tests.support.stories import write_stories
from treeviews.models.evaluation.probing_tasks import TASKS
from treeviews.models.evaluation.task_result import TaskResult, read_results
from treeviews.pipeline.shards.manifests import read_dataset_manifest

LUIGI = Path(sys.executable).with_name("luigi")
CHANGES = {"hidden_size": 16, "epochs": 2, "batch_size": 40, "held_out_batches": 5}
OPTIONS = ("--changes", json.dumps(CHANGES), "--held-out-fraction", "0.5")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def command(work: Path, text: Path, *more: str, task: str = "RunAll") -> list[str]:
    return [
        *(str(LUIGI), "--module", "tasks", task, "--local-scheduler"),
        *("--work-folder", str(work), "--source", "files", "--paths", str(text)),
        *more,
    ]


def run_all(work: Path, text: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(work, text, *OPTIONS, "--further-seeds", "[1]", *more),
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )


def start_all(work: Path, text: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command(work, text, *OPTIONS, "--further-seeds", "[1]"),
        cwd=REPOSITORY,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def artefacts(work: Path) -> dict[str, int]:
    """Every file with the time of its last change."""
    files = (p for p in work.rglob("*") if p.is_file())
    return {str(p.relative_to(work)): p.stat().st_mtime_ns for p in files}


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_stories(
        tmp_path_factory.mktemp("text"), num_documents=24, num_sentences=30
    ).resolve()


@pytest.fixture(scope="module")
def finished(text: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A work folder that the main job filled without being disturbed, and what it printed."""
    work = tmp_path_factory.mktemp("work")
    result = run_all(work, text)
    assert result.returncode == 0, result.stderr[-5000:]
    return work, result.stdout


def test_the_reports_path_is_the_last_thing_printed(finished: tuple[Path, str]) -> None:
    work, printed = finished

    report = Path(printed.splitlines()[-1])

    assert report.name == "report.html"
    assert report.is_relative_to(work)
    assert "pair" in report.read_text(encoding="utf-8")
    assert json.loads((report.parent / "report.json").read_text(encoding="utf-8"))


def test_every_stage_keeps_every_row(finished: tuple[Path, str]) -> None:
    work, _ = finished
    (corpus,) = (work / "corpora").glob("files-*")

    assert {read_dataset_manifest(stage).rows for stage in corpus.iterdir()} == {24 * 30}


def test_the_shards_pass_their_check(finished: tuple[Path, str]) -> None:
    work, _ = finished
    for corpus in (work / "corpora").iterdir():
        result = subprocess.run(
            [sys.executable, "-m", "treeviews", "inspect", "check", str(corpus)],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stdout + result.stderr


def test_a_second_run_changes_nothing(finished: tuple[Path, str], text: Path) -> None:
    work, printed = finished
    before = artefacts(work)

    result = run_all(work, text)

    assert result.returncode == 0
    assert result.stdout.splitlines()[-1] == printed.splitlines()[-1]
    assert artefacts(work) == before


def test_the_command_line_gives_the_figures_of_the_report(
    finished: tuple[Path, str], tmp_path: Path
) -> None:
    """The same protocol on the same data: documents, parses and settings come with the tasks."""
    work, printed = finished
    report = json.loads(Path(printed.splitlines()[-1]).with_name("report.json").read_text())
    expected = next(row for row in report["rows"] if row["name"] == "pair")["result"]
    (data,) = work.glob("probing/*/senteval")
    called = {task.name: task.evaluation_task for task in TASKS}

    result = subprocess.run(
        [
            *(sys.executable, "-m", "treeviews", "evaluate", "--threads", "1"),
            *("--encoder", str(model(work)), "--data", str(data)),
            *("--tasks", ",".join(called[name] for name in expected["tasks"])),
            *("--out", str(tmp_path / "out")),
        ],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )

    assert result.returncode == 0, result.stderr[-5000:]
    found = read_results(tmp_path / "out")
    for name, task in expected["tasks"].items():
        one = found[called[name]]
        assert isinstance(one, TaskResult)
        assert asdict(one.scores["accuracy"]) == task["accuracy"]
    average = f"{expected['average']['value']:.1f} [{expected['average']['low']:.1f}"
    assert f"| average of the derived tasks | accuracy | {average}" in result.stdout


def written_since(work: Path, pattern: str, moment: float) -> bool:
    return any(path.stat().st_mtime > moment for path in work.glob(pattern) if path.exists())


def test_a_report_that_was_killed_is_written_by_the_next_run(
    finished: tuple[Path, str], text: Path, tmp_path: Path
) -> None:
    """`tests/faults/` kills all other stages."""
    work = tmp_path / "work"
    shutil.copytree(finished[0], work)
    shutil.rmtree(work / "reports")
    moment = time.time()
    process = start_all(work, text)
    while process.poll() is None and not written_since(work, "reports/*/config.json", moment):
        time.sleep(0.01)
    was_killed = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()

    result = run_all(work, text)

    assert was_killed
    assert result.returncode == 0, result.stderr[-5000:]
    assert Path(result.stdout.splitlines()[-1]).is_relative_to(work)
    assert not list(work.rglob("*.unfinished"))


def test_one_seed_gives_one_loss_curve(
    finished: tuple[Path, str], text: Path, tmp_path: Path
) -> None:
    work, _ = finished
    shutil.copytree(work / "corpora", tmp_path / "corpora")
    result = subprocess.run(
        command(tmp_path, text, *OPTIONS, task="TrainEncoders"),
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-5000:]

    assert losses(tmp_path) == losses(work)
    assert len(losses(work)) > 5


def model(work: Path) -> Path:
    """The model that was trained with seed 0."""
    (config,) = (
        path
        for path in (work / "models").glob("*/config.json")
        if json.loads(path.read_text(encoding="utf-8"))["training"]["seed"] == 0
    )
    return config.parent


def losses(work: Path) -> list[float]:
    """The loss curve of the training with seed 0."""
    metrics = (model(work) / "metrics.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in metrics.splitlines()]
    return [line["loss"] for line in lines if line["kind"] == "train"]


def test_a_failed_stage_names_its_cause_and_exits_non_zero(tmp_path: Path) -> None:
    missing = tmp_path / "no-such-text.txt"

    result = run_all(tmp_path / "work", missing)

    assert result.returncode not in (0, None)
    assert "no-such-text.txt" in result.stderr
