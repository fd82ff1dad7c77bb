"""SentEval as Luigi runs it: paths, what is done once, what is done again, what is absent."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import luigi
import pytest

from tests.support.parsed_corpora import write_vectors
from tests.support.repository import REPOSITORY
from tests.support.saved_models import write_model, write_multi_view_model
from tests.support.tiny_senteval import write_tiny_senteval
from treeviews.command import main
from treeviews.models.evaluate_tasks import execute, open_evaluation
from treeviews.models.evaluation.evaluation_settings import EvaluationSettings
from treeviews.models.evaluation.task_result import (
    AbsentResult,
    TaskResult,
    read_result,
    read_results,
)
from treeviews.pipeline.base.job import Progress
from treeviews.pipeline.downloads.senteval_data import SENTEVAL_SETS as DECLARED
from treeviews.pipeline.downloads.senteval_data import DataManifest, DatasetEntry, write_manifest
from treeviews.tasks import EvaluateAll, EvaluateTask
from treeviews.tasks.senteval import EvaluateEncoder

OWN = """
import numpy as np

def letters(sentences):
    return np.array([[s.count(c) for c in "abcdefghij"] for s in sentences], dtype=float)
"""
ENCODERS = "bag_of_words,own_letters:letters"


@pytest.fixture
def setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Parameters of a run on a tiny folder of one's own, with an encoder of one's own."""
    luigi.task_register.Register.clear_instance_cache()
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "own_letters.py").write_text(OWN, encoding="utf-8")
    monkeypatch.syspath_prepend(str(modules))
    monkeypatch.setenv("PYTHONPATH", f"{modules}:{REPOSITORY}")
    monkeypatch.delitem(sys.modules, "own_letters", raising=False)
    return {
        "work_folder": tmp_path / "work",
        "senteval_data": str(write_tiny_senteval(tmp_path / "data")),
        "vectors": write_vectors(tmp_path / "vectors", size=6),
        "folds": 3,
        "encoder_version": "1",
    }


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The jobs of a run, which are done in this process."""
    done: list[dict[str, Any]] = []

    def run(
        module: str, job: Mapping[str, Any], path: Path, progress: Progress, *, threads: int
    ) -> None:
        assert (module, threads) == ("treeviews.models.evaluate_tasks", 1)
        path.write_text(json.dumps(job), encoding="utf-8")
        done.append(json.loads(path.read_text(encoding="utf-8")))
        execute(EvaluationSettings.from_dict(done[-1]), progress)

    monkeypatch.setattr("treeviews.tasks.artefact.run_job_process", run)
    return done


def build(task: luigi.Task) -> bool:
    """Runs a task as a run of its own does, which knows no instances of another."""
    succeeded: bool = luigi.build([task], local_scheduler=True, workers=1, log_level="ERROR")
    luigi.task_register.Register.clear_instance_cache()
    return succeeded


def times(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_all_encoders_stand_in_one_table_and_are_scored_once(
    setting: dict[str, Any], jobs: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    parameters = {**setting, "encoder": ENCODERS, "tasks": "TREC,SICK-E,CR"}
    task = EvaluateAll(**parameters)
    assert build(task)

    table = (task.folder / "evaluation.md").read_text(encoding="utf-8")
    assert "mean of the word vectors" in table and "own_letters:letters" in table
    assert all(f"| {name} " in table for name in ("TREC", "SICK-E", "CR"))
    assert "absent" in table and "custrev.pos" in table
    bag, own = task.folder / "bag_of_words", task.folder / "own_letters-letters"
    assert set(read_results(bag)) == set(read_results(own)) == {"TREC", "SICK-E", "CR"}
    capsys.readouterr()
    assert main(["compare", str(bag), str(own), "--resamples", "50"]) == 0
    assert "SICK-E" in capsys.readouterr().out

    before = times(setting["work_folder"])
    assert EvaluateAll(**parameters).complete()
    assert build(EvaluateAll(**parameters))
    assert times(setting["work_folder"]) == before
    assert build(EvaluateAll(**parameters | {"tasks": "TREC,SICK14"}))
    assert [sorted(job["tasks"]) for job in jobs] == 2 * [["CR", "SICK-E", "TREC"]] + 2 * [
        ["SICK14"]
    ]


def test_what_ships_keeps_its_words_and_parsers(setting: dict[str, Any]) -> None:
    task = EvaluateEncoder(**setting | {"dependency_parser": "none"}, encoder="english-trees")
    assert task.evaluated.settings == {} and not task.evaluated.requires


def test_a_job_that_fails_leaves_no_result(
    setting: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("killed")

    monkeypatch.setattr("treeviews.tasks.artefact.run_job_process", fail)
    assert not build(EvaluateTask(**setting, encoder="bag_of_words", task="TREC"))
    assert not list(setting["work_folder"].rglob("TREC.json"))


def downloaded(setting: dict[str, Any]) -> tuple[dict[str, Any], Path]:
    """Returns parameters of a run whose download found nothing, and the folder of the data."""
    parameters = {**setting, "senteval_data": "", "encoder": "own_letters:letters"}
    folder: Path = EvaluateTask(**parameters).data_folder
    folder.mkdir(parents=True)
    absent = DatasetEntry(state="absent", reason="HTTP 404", tried_at=time.time())
    write_manifest(folder, DataManifest(datasets={dataset.name: absent for dataset in DECLARED}))
    return parameters, folder


@pytest.mark.usefixtures("jobs")
def test_a_result_that_says_absent_is_made_again_when_the_data_come(
    setting: dict[str, Any],
) -> None:
    parameters, folder = downloaded(setting)
    task = EvaluateTask(**parameters, task="TREC")
    table = EvaluateAll(**parameters, tasks="TREC")
    assert build(table)
    assert isinstance(read_result(Path(task.output().path)), AbsentResult)
    assert task.complete() and table.complete()

    write_tiny_senteval(folder)
    assert not task.complete() and not table.complete()
    assert build(EvaluateAll(**parameters, tasks="TREC"))
    assert isinstance(read_result(Path(task.output().path)), TaskResult)
    assert task.complete() and table.complete()
    assert "HTTP" not in (table.folder / "evaluation.md").read_text(encoding="utf-8")
    text = (table.folder / "evaluation.md").read_text(encoding="utf-8")
    assert "| TREC | accuracy |" in text


@pytest.mark.usefixtures("jobs")
def test_views_of_models_trained_apart_are_scored_together(setting: dict[str, Any]) -> None:
    folder, vectors = setting["work_folder"] / "models", setting["vectors"]
    f = write_multi_view_model(folder / "f", vectors)
    g = write_model(folder / "g", vectors, views=("SEQ", "LIN"))
    task = EvaluateAll(**setting, encoder=f"{f}@INV+{g}@LIN,{f}", tasks="TREC")
    assert build(task)

    assert {folder.name for folder in task.folders().values()} == {"f-INV-g-LIN", "f"}
    table = (task.folder / "evaluation.md").read_text(encoding="utf-8")
    assert "| f@INV+g@LIN | f |" in table


def test_an_edited_function_changes_the_path_and_a_run_that_began_before_is_refused(
    setting: dict[str, Any], tmp_path: Path
) -> None:
    task = EvaluateTask(**setting, encoder="own_letters:letters")
    folder, job = task.folder, task.job()
    assert "own_letters" not in sys.modules, "the scheduler runs none of its code"
    (tmp_path / "modules/own_letters.py").write_text(f"{OWN}\n# edited", encoding="utf-8")
    luigi.task_register.Register.clear_instance_cache()

    assert EvaluateTask(**setting, encoder="own_letters:letters").folder != folder
    with pytest.raises(ValueError, match="own_letters:letters: its module was changed after"):
        open_evaluation(job)
