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
from treeviews.command import main
from treeviews.models.evaluation.probing_tasks import TASKS
from treeviews.models.evaluation.task_result import TaskResult, read_results
from treeviews.pipeline.shards.manifests import read_dataset_manifest

LUIGI = Path(sys.executable).with_name("luigi")
CHANGES = {"hidden_size": 16, "epochs": 2, "batch_size": 40, "held_out_batches": 5}
PROBING = {"min_train": 20, "min_dev": 6, "min_test": 12, "min_class_train": 3}
OPTIONS = (
    *("--changes", json.dumps(CHANGES), "--held-out-fraction", "0.5", "--further-seeds", "[1]"),
    *("--probing-changes", json.dumps(PROBING)),
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def run_all(work: Path, text: Path) -> subprocess.Popen[str]:
    """Starts the main job."""
    return subprocess.Popen(
        [
            *(str(LUIGI), "--module", "tasks", "RunAll", "--local-scheduler", *OPTIONS),
            *("--work-folder", str(work), "--source", "files", "--paths", str(text)),
        ],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def printed_by(run: subprocess.Popen[str]) -> str:
    """Returns what a run that succeeds prints."""
    printed, said = run.communicate()
    assert run.returncode == 0, said[-5000:]
    return printed


def artefacts(work: Path) -> dict[str, int]:
    """Every file with the time of its last change."""
    files = (p for p in work.rglob("*") if p.is_file())
    return {str(p.relative_to(work)): p.stat().st_mtime_ns for p in files}


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_stories(
        tmp_path_factory.mktemp("text"), num_documents=24, num_sentences=15
    ).resolve()


@pytest.fixture(scope="module")
def finished(text: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A work folder that the main job filled without being disturbed, and what it printed."""
    work = tmp_path_factory.mktemp("work")
    return work, printed_by(run_all(work, text))


def test_the_reports_path_is_the_last_thing_printed(finished: tuple[Path, str]) -> None:
    work, printed = finished

    report = Path(printed.splitlines()[-1])

    assert report.name == "report.html"
    assert report.is_relative_to(work)
    assert "pair" in report.read_text(encoding="utf-8")
    assert json.loads((report.parent / "report.json").read_text(encoding="utf-8"))


def test_the_shards_keep_every_row_and_pass_their_check(finished: tuple[Path, str]) -> None:
    (corpus,) = (finished[0] / "corpora").glob("files-*")

    assert {read_dataset_manifest(stage).rows for stage in corpus.iterdir()} == {24 * 15}
    assert main(["inspect", "check", str(corpus)]) == 0


def test_a_second_run_changes_nothing(finished: tuple[Path, str], text: Path) -> None:
    work, printed = finished
    before = artefacts(work)

    assert printed_by(run_all(work, text)).splitlines()[-1] == printed.splitlines()[-1]
    assert artefacts(work) == before


def test_the_command_line_gives_the_figures_of_the_report(
    finished: tuple[Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same protocol on the same data: documents, parses and settings come with the tasks."""
    work, said = finished
    report = json.loads(Path(said.splitlines()[-1]).with_name("report.json").read_text())
    expected = next(row for row in report["rows"] if row["name"] == "pair")["result"]
    (data,) = work.glob("probing/*/senteval")
    called = {task.name: task.evaluation_task for task in TASKS}

    code = main(
        [
            *("evaluate", "--threads", "1", "--encoder", str(model(work)), "--data", str(data)),
            *("--tasks", ",".join(called[name] for name in expected["tasks"])),
            *("--out", str(tmp_path / "out")),
        ]
    )

    printed = capsys.readouterr()
    assert code == 0, printed.err
    found = read_results(tmp_path / "out")
    for name, task in expected["tasks"].items():
        one = found[called[name]]
        assert isinstance(one, TaskResult)
        assert asdict(one.scores["accuracy"]) == task["accuracy"]
    average = f"{expected['average']['value']:.1f} [{expected['average']['low']:.1f}"
    assert f"| average of the derived tasks | accuracy | {average}" in printed.out


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
    process = run_all(work, text)
    while process.poll() is None and not written_since(work, "reports/*/config.json", moment):
        time.sleep(0.01)
    was_killed = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.communicate()

    assert was_killed
    assert Path(printed_by(run_all(work, text)).splitlines()[-1]).is_relative_to(work)
    assert not list(work.rglob("*.unfinished"))


def model(work: Path) -> Path:
    """The model that was trained with seed 0."""
    (config,) = (
        path
        for path in (work / "models").glob("*/config.json")
        if json.loads(path.read_text(encoding="utf-8"))["training"]["seed"] == 0
    )
    return config.parent
