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

from tests.support.command import subcommand
from tests.support.edited_json import edit
from tests.support.parsed_corpora import write_vectors
from tests.support.repository import REPOSITORY
from tests.support.saved_models import write_model, write_multi_view_model
from tests.support.tiny_senteval import write_tiny_senteval
from treeviews.models.evaluate_tasks import execute, open_evaluation
from treeviews.models.evaluation.evaluation_settings import EvaluationSettings
from treeviews.models.evaluation.task_result import (
    AbsentResult,
    TaskResult,
    read_result,
    read_results,
)
from treeviews.pipeline.base.bundled import BUNDLED_MODELS
from treeviews.pipeline.downloads.senteval_data import SENTEVAL_SETS as DECLARED
from treeviews.pipeline.downloads.senteval_data import DataManifest, DatasetEntry, write_manifest
from treeviews.tasks import EvaluateAll, EvaluateTask, RunAll
from treeviews.tasks.senteval import EvaluateEncoder, SentEvalStage

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

    def run(task: luigi.Task, module: str, job: Mapping[str, Any], path: Path, **_: int) -> None:
        assert module == "treeviews.models.evaluate_tasks"
        path.write_text(json.dumps(job), encoding="utf-8")
        done.append(json.loads(path.read_text(encoding="utf-8")))
        execute(EvaluationSettings.from_dict(done[-1]), task.report_progress)

    monkeypatch.setattr("treeviews.tasks.senteval.run_job", run)
    return done


def build(task: luigi.Task) -> bool:
    """Runs a task as a run of its own does, which knows no instances of another."""
    succeeded: bool = luigi.build([task], local_scheduler=True, workers=1, log_level="ERROR")
    luigi.task_register.Register.clear_instance_cache()
    return succeeded


def times(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


# Paths.

STAGES: list[tuple[type[SentEvalStage], dict[str, str]]] = [
    (EvaluateTask, {"encoder": "trained", "task": "MR"}),
    (EvaluateAll, {"tasks": "MR"}),
]


EVERYWHERE: tuple[dict[str, Any], ...] = (
    {"seed": 3},
    {"views": "SEQ,BOW"},
    {"preset": "quickthoughts"},
    {"changes": {"epochs": 9}},
    {"limit": 10},
    {"held_out_fraction": 0.4},
    {"representation": "multi-view"},
    {"representation_changes": {"normalise": True}},
    {"representation_changes": {"views": ["0-DEP"]}},
    {"classifier": "compatibility"},
    {"classifier": "compatibility", "protocol_changes": {"compatibility_loss": "mean"}},
    {"folds": 5},
)


@pytest.mark.parametrize(
    ("stage", "own", "changes"),
    [
        (*STAGES[0], ({"task": "CR"}, {"encoder": "random-0"}, {"encoder": "trained-1"})),
        (*STAGES[1], ({"tasks": "MR,CR"}, {"encoder": "bag_of_words"}, {"further_seeds": [5]})),
    ],
)
def test_a_significant_parameter_changes_the_path(
    stage: type[SentEvalStage],
    own: dict[str, str],
    changes: tuple[dict[str, Any], ...],
    setting: dict[str, Any],
    tmp_path: Path,
) -> None:
    others = {"vectors": write_vectors(tmp_path / "others", size=7)}
    changed = ({}, *EVERYWHERE, others, *changes)
    folders = {stage(**(setting | own | one)).folder for one in changed}
    assert len(folders) == len(changed)
    machine = {"threads": 7, "gemm": "onednn", "accept_unverified": True, "on_refusal": "zero"}
    assert stage(**(setting | own | machine)).folder in folders


@pytest.mark.parametrize("encoder", ["bag_of_words", "sif", "random-0", "own_letters:letters"])
def test_a_baseline_needs_no_training(encoder: str, setting: dict[str, Any]) -> None:
    task = EvaluateTask(**setting, encoder=encoder)
    other = {"changes": {"epochs": 9}, "seed": 4, "limit": 10}
    assert EvaluateTask(**(setting | other), encoder=encoder).folder == task.folder
    assert set(task.requires()) == {"data"}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"encoder": "random-first"}, "no such folder and no known name; give trained"),
        ({"task": "MRS"}, "MRS"),
        ({"representation": "multiview"}, "unknown representation 'multiview'"),
        ({"folds": 1}, "num_folds must be at least 2"),
        ({"derived": True}, "--derived takes no --senteval-data"),
        ({"derived": True, "senteval_data": ""}, "--derived has no task MR; choose among"),
        ({"encoder": "own_letters:letters", "encoder_version": ""}, "give --encoder-version"),
        ({"encoder": "trained", "representation_changes": {"views": ["SEQ"]}}, "no view 'SEQ'"),
    ],
)
def test_what_cannot_be_is_named(
    parameters: dict[str, Any], message: str, setting: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match=message):
        EvaluateTask(**(setting | {"encoder": "bag_of_words"} | parameters)).output()


def test_changed_data_changes_the_path(setting: dict[str, Any]) -> None:
    before = [stage(**setting, **own).folder for stage, own in STAGES]
    luigi.task_register.Register.clear_instance_cache()
    path = Path(setting["senteval_data"]) / "downstream/MR/rt-polarity.pos"
    path.write_text("the cow sees the dog here\n", encoding="latin-1")
    after = [stage(**setting, **own).folder for stage, own in STAGES]
    assert not set(before) & set(after)


def test_data_of_another_set_or_in_another_place_changes_no_path(
    setting: dict[str, Any], tmp_path: Path
) -> None:
    moved = write_tiny_senteval(tmp_path / "moved")
    (moved / "downstream/TREC/TREC_10.label").write_text("NUM:date when ?\n", encoding="latin-1")
    for stage, own in STAGES:
        elsewhere = stage(**(setting | own | {"senteval_data": str(moved)}))
        assert elsewhere.folder == stage(**setting, **own).folder


@pytest.mark.parametrize("encoder", ["bag_of_words", "sif", "random-0", "own_letters:letters"])
def test_words_of_the_corpus_are_waited_for(encoder: str, setting: dict[str, Any]) -> None:
    own = setting | {"vectors": "corpus", "encoder": encoder}
    task = EvaluateTask(**own, representation_changes={"join_words": True})
    trained = task.requires()["vectors"]
    assert task.job([task])["encoder_settings"]["vectors"] == str(trained.folder)
    other = EvaluateTask(**own, representation_changes={"join_words": True}, limit=10)
    assert other.folder != task.folder


def test_a_trained_encoder_waits_for_its_training(setting: dict[str, Any]) -> None:
    assert EvaluateTask(**setting, encoder="trained-4").requires()["model"].seed == 4


def test_a_digest_holds_no_place_on_this_machine(setting: dict[str, Any], tmp_path: Path) -> None:
    for stage, own in STAGES:
        assert str(tmp_path) not in json.dumps(stage(**setting, **own).content())


# Runs.


def test_all_encoders_stand_in_one_table(
    setting: dict[str, Any], jobs: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    task = EvaluateAll(**setting, encoder=ENCODERS, tasks="TREC,SICK-E,SICK14,CR")
    assert build(task)

    table = (task.folder / "evaluation.md").read_text(encoding="utf-8")
    assert "mean of the word vectors" in table and "own_letters:letters" in table
    assert all(f"| {name} " in table for name in ("TREC", "SICK-E", "SICK14", "CR"))
    assert "absent" in table and "custrev.pos" in table
    bag, own = task.folder / "bag_of_words", task.folder / "own_letters-letters"
    assert set(read_results(bag)) == set(read_results(own)) == {"TREC", "SICK-E", "SICK14", "CR"}
    capsys.readouterr()
    assert subcommand("compare")([str(bag), str(own), "--resamples", "50"]) == 0
    assert "SICK-E" in capsys.readouterr().out

    assert [sorted(job["tasks"]) for job in jobs] == 2 * [["CR", "SICK-E", "SICK14", "TREC"]]


def test_by_default_what_was_trained_stands_beside_all_that_needs_no_training(
    setting: dict[str, Any],
) -> None:
    encoders = EvaluateAll(**setting, further_seeds=[1]).encoders
    random = [f"random-{seed}" for seed in range(3)]
    assert encoders == ["trained", "trained-1", *random, "bag_of_words", "sif", *BUNDLED_MODELS]


def test_what_ships_keeps_its_words_and_parsers_beside_those_of_a_run(
    setting: dict[str, Any], tmp_path: Path
) -> None:
    task = EvaluateEncoder(
        **(setting | {"dependency_parser": str(tmp_path / "no-parser")}), encoder="english-trees"
    )

    found = task.evaluated_encoder("english-trees")

    assert found.settings == {} and not found.requires


def test_a_second_run_does_nothing(setting: dict[str, Any], jobs: list[dict[str, Any]]) -> None:
    parameters = {**setting, "encoder": ENCODERS, "tasks": "SICK14,CR"}
    assert build(EvaluateAll(**parameters))
    before, num_jobs = times(setting["work_folder"]), len(jobs)
    assert EvaluateAll(**parameters).complete()
    assert build(EvaluateAll(**parameters))
    assert (times(setting["work_folder"]), len(jobs)) == (before, num_jobs)


def test_further_tasks_take_what_is_there(
    setting: dict[str, Any], jobs: list[dict[str, Any]]
) -> None:
    parameters = {**setting, "encoder": "own_letters:letters"}
    assert build(EvaluateAll(**parameters, tasks="SICK14"))
    assert build(EvaluateAll(**parameters, tasks="SICK14,SICK-E"))
    assert [job["tasks"] for job in jobs] == [["SICK14"], ["SICK-E"]]


def test_a_job_that_fails_leaves_no_result(
    setting: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("killed")

    monkeypatch.setattr("treeviews.tasks.senteval.run_job", fail)
    assert not build(EvaluateTask(**setting, encoder="bag_of_words", task="TREC"))
    assert not list(setting["work_folder"].rglob("TREC.json"))


def downloaded(setting: dict[str, Any]) -> tuple[dict[str, Any], Path]:
    """Returns parameters of a run whose download found nothing, and the folder of the data."""
    parameters = {**setting, "senteval_data": "", "encoder": "own_letters:letters"}
    folder: Path = EvaluateTask(**parameters).task_data.folder
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


def test_a_model_made_again_by_another_commit_is_the_same_one(
    setting: dict[str, Any], tmp_path: Path
) -> None:
    folders = []
    for parent, commit in (("a", "0123"), ("b", "4567")):
        model = write_model(tmp_path / parent / "m", setting["vectors"], views=("SEQ", "LIN"))
        edit(model / "model.json", lambda value, made=commit: value["made"].update(commit=made))
        task = EvaluateAll(**setting, encoder=str(model), tasks="MR")
        folders += [folder.name for folder in task.folders().values()]
    content = [EvaluateTask(**setting, encoder=str(tmp_path / p / "m")).digest for p in "ab"]
    assert content[0] == content[1]
    assert folders == ["m", "m"]
    other = write_model(tmp_path / "c" / "m", setting["vectors"], seed=1, views=("SEQ", "LIN"))
    assert EvaluateTask(**setting, encoder=str(other)).digest != content[0]


def ensemble(folder: Path, vectors: Path) -> str:
    """Writes two models there and returns the name of a view of each."""
    f = write_multi_view_model(folder / "f", vectors)
    g = write_model(folder / "g", vectors, views=("SEQ", "LIN"))
    return f"{f}@INV+{g}@LIN"


@pytest.mark.usefixtures("jobs")
def test_views_of_models_trained_apart_are_scored_together(setting: dict[str, Any]) -> None:
    spec = ensemble(setting["work_folder"] / "models", setting["vectors"])
    single = spec.partition("@")[0]
    task = EvaluateAll(**setting, encoder=f"{spec},{single}", tasks="TREC")
    assert build(task)

    assert {folder.name for folder in task.folders().values()} == {"f-INV-g-LIN", "f"}
    table = (task.folder / "evaluation.md").read_text(encoding="utf-8")
    assert "| f@INV+g@LIN | f |" in table


def test_an_ensemble_is_known_by_its_models_and_views(
    setting: dict[str, Any], tmp_path: Path
) -> None:
    def digest(spec: str, **more: Any) -> str:
        luigi.task_register.Register.clear_instance_cache()
        return EvaluateTask(**setting, encoder=spec, **more).digest

    spec = ensemble(tmp_path / "models", setting["vectors"])
    before = digest(spec)
    f, g = tmp_path / "models/f", tmp_path / "models/g"

    assert str(tmp_path) not in json.dumps(EvaluateTask(**setting, encoder=spec).content())
    assert digest(f"{f}@1-INV+{g}@1-LIN") == before
    others = {
        digest(f"{f}@SEQ+{g}@LIN"),
        digest(f"{g}@LIN+{f}@INV"),
        digest(f"{f}+{g}@LIN"),
        digest(str(f)),
        digest(str(f), representation_changes={"views": ["INV"]}),
    }
    assert len(others | {before}) == 6
    (g / "model.safetensors").write_bytes(b"other weights")
    assert digest(spec) not in {before, *others}


def test_an_edited_function_changes_the_path_and_a_run_that_began_before_is_refused(
    setting: dict[str, Any], tmp_path: Path
) -> None:
    task = EvaluateTask(**setting, encoder="own_letters:letters")
    folder, job = task.folder, task.job([task])
    assert "own_letters" not in sys.modules, "the scheduler runs none of its code"
    (tmp_path / "modules/own_letters.py").write_text(f"{OWN}\n# edited", encoding="utf-8")
    luigi.task_register.Register.clear_instance_cache()

    assert EvaluateTask(**setting, encoder="own_letters:letters").folder != folder
    with pytest.raises(ValueError, match="own_letters:letters: its module was changed after"):
        open_evaluation(EvaluationSettings.from_dict(job))


# The main job.


def test_the_main_job_scores_what_it_trains_beside_baselines(setting: dict[str, Any]) -> None:
    report, table, *_ = RunAll(**setting, further_seeds=[1, 4]).requires()
    assert table.encoders == [
        *("trained", "trained-1", "trained-4"),
        *("random-0", "random-1", "random-2"),
        *("bag_of_words", "sif", *BUNDLED_MODELS),
    ]
    chosen = RunAll(**setting, representation_changes={"views": ["0-DEP"]}).requires()[1]
    assert chosen.encoders[-1] == "bag_of_words"  # the others have no such view
    first = next(task for task in table.requires() if task.encoder == "trained-4")
    trained = first.requires()["model"]
    assert trained.folder in {task.folder for task in report.trainings}


@pytest.mark.slow
def test_jobs_run_in_processes_of_their_own(setting: dict[str, Any]) -> None:
    task = EvaluateAll(**setting, encoder=ENCODERS, tasks="MR,SICK-R")
    assert build(task)
    for folder in task.folders().values():
        assert {type(result) for result in read_results(folder).values()} == {TaskResult}
    assert (task.folder / "evaluation.md").exists()
