"""Tables of experiments: what is trained and scored, what is shared, and small runs."""

from __future__ import annotations

import csv
import json
import pickle
from collections.abc import Mapping
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import luigi
import pytest

from tests.support.parsed_corpora import write_vectors
from tests.support.stories import write_stories
from tests.support.tiny_senteval import write_tiny_senteval
from treeviews.models import evaluate_tasks, train
from treeviews.models.evaluation.evaluation_settings import EvaluationSettings
from treeviews.models.evaluation.representation import representation_named
from treeviews.models.report.experiment import NOT_HERE
from treeviews.models.report.result_table import ResultTable, read_table
from treeviews.pipeline.base.job import Progress
from treeviews.tasks import (
    PaperTables,
    Sweep,
    TableOfCorpusChoice,
    TableOfEmbeddingSize,
    TableOfInvertibleDecoders,
    TableOfMultiViewAblations,
    TableOfMultiViewSupervised,
    TrainEncoders,
    artefact,
)
from treeviews.tasks.command_line import stages
from treeviews.tasks.experiments.make_table import TABLES, MakeTable

SMALL = {"epochs": 1, "batch_size": 32, "shared_negatives": 16, "held_out_batches": 2}


@pytest.fixture
def run(tmp_path: Path) -> dict[str, Any]:
    luigi.task_register.Register.clear_instance_cache()
    text = tmp_path / "story.txt"
    text.write_text("The rain stopped. The children ran out.\n", encoding="utf-8")
    return {
        "work_folder": tmp_path / "work",
        "source": "files",
        "paths": str(text),
        "senteval_data": str(write_tiny_senteval(tmp_path / "data")),
        "vectors": write_vectors(tmp_path / "vectors", size=6),
    }


def test_all_stages_reach_a_process_that_is_not_forked() -> None:
    for stage in stages().values():
        assert pickle.loads(ForkingPickler.dumps(stage)) is stage
    assert issubclass(stages()["TableOfMultiViewAblations"], MakeTable)


def required(task: luigi.Task, kind: type[luigi.Task]) -> list[Any]:
    return [one for one in luigi.task.flatten(task.requires()) if isinstance(one, kind)]


def everything(task: luigi.Task) -> list[luigi.Task]:
    """Returns a task and all that it needs, each task as often as Luigi would make it."""
    found: dict[str, luigi.Task] = {}
    waiting = [task]
    while waiting:
        one = waiting.pop()
        if one.task_id not in found:
            found[one.task_id] = one
            waiting += luigi.task.flatten(one.requires())
    return list(found.values())


# What is trained and scored.


def test_a_training_that_several_tables_have_is_made_once(run: dict[str, Any]) -> None:
    tables = PaperTables(**run, seeds="0,1", width=8)

    found = everything(tables)

    asked = sum(len(required(table, TrainEncoders)) for table in tables.requires())
    trained = [task for task in found if isinstance(task, TrainEncoders)]
    digests = {task.digest for task in trained}
    assert len(trained) == len(digests) < asked
    assert [type(table) for table in tables.requires()] == list(TABLES.values())


def test_tasks_restrict_what_is_scored_and_derived_ones_stand_beside(run: dict[str, Any]) -> None:
    table = TableOfMultiViewSupervised(**run, tasks="MR,TreeDepth", derived=True)

    row = table.experiment.rows[0]
    (published,), (derived,) = table.stages(row), table.stages(row, derived=True)
    assert (published.tasks, published.derived) == ("MR", False)
    assert (derived.tasks, derived.derived, derived.senteval_data) == ("TreeDepth", True, "")
    (data,) = table.clone(senteval_data="").data()
    assert data.folder.parent.name == "evaluation-data" and table.present() == {"MR"}


def test_a_row_takes_its_views_and_its_papers_pooling(run: dict[str, Any]) -> None:
    table = TableOfInvertibleDecoders(**run)
    (stage,) = table.stages(table.experiment.rows[0])
    expected = representation_named(
        "multi-view",
        views=("0-SEQ",),
        supervised_pooling=("max", "mean", "min"),
        components_from="train",
    )
    assert stage.resolved_representation() == expected.to_dict()
    assert stage.resolved_protocol()["grid_scale"] == 4.0


def test_a_second_text_is_trained_on_where_it_is_given(run: dict[str, Any], tmp_path: Path) -> None:
    more = tmp_path / "more.txt"
    more.write_text("A dog barked. The cat ran.\n", encoding="utf-8")
    second = {"source": "files", "paths": str(more)}

    alone = TableOfCorpusChoice(**run, width=8)
    both = TableOfCorpusChoice(**run, width=8, second_corpus=second)

    assert [task.paths for task in required(alone, TrainEncoders)] == [run["paths"]]
    reasons = [row.reason for row in alone.experiment.rows if row.encoder == NOT_HERE]
    assert reasons == ["no second text was given (--second-corpus)"]
    assert [task.paths for task in required(both, TrainEncoders)] == [run["paths"], str(more)]


def test_a_projection_takes_the_seeds_of_its_row(run: dict[str, Any]) -> None:
    table = TableOfEmbeddingSize(**run, width=8, seeds="0,4", random_seeds="1,2,3", tasks="MR")

    seeds = {
        row.full_title: [stage.resolved_representation()["projection_seed"] for stage in stages]
        for row in table.here()
        if row.seeded and (stages := table.stages(row))
    }
    assert seeds["DEP,CONST, projected to 768"] == [0, 4]
    assert seeds["DEP,CONST, random weights, projected to 768"] == [1, 2, 3]
    assert seeds["word vectors, mean, projected to 768"] == [1, 2, 3]


# Small runs.


def evaluate_job(job: Mapping[str, Any], progress: Progress) -> None:
    evaluate_tasks.execute(EvaluationSettings.from_dict(job), progress)


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Does the jobs of a run without a process for each."""
    jobs = {
        "treeviews.models.train": train.execute,
        "treeviews.models.evaluate_tasks": evaluate_job,
    }

    run_elsewhere = artefact.run_job_process

    def run_here(
        module: str, job: Mapping[str, Any], path: Path, progress: Progress, **how: Any
    ) -> None:
        if module in jobs:
            jobs[module](json.loads(json.dumps(job)), progress)
        else:
            run_elsewhere(module, job, path, progress, **how)

    monkeypatch.setattr("treeviews.tasks.artefact.run_job_process", run_here)


@pytest.fixture
def small(run: dict[str, Any], tmp_path: Path) -> dict[str, Any]:
    """Parameters of a run of seconds."""
    text = write_stories(tmp_path / "stories", num_documents=12, num_sentences=20)
    run |= {"paths": str(text), "folds": 2, "changes": SMALL, "width": 8}
    run |= {"held_out_fraction": 0.25, "gemm": "default", "threads": 1}
    return run


def build(task: luigi.Task) -> bool:
    done: bool = luigi.build([task], local_scheduler=True, workers=1, log_level="ERROR")
    return done


def made(task: MakeTable) -> ResultTable:
    return read_table(task.folder / "table.json")


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_a_small_table_is_made_and_asks_once_more_for_data_that_were_absent(
    small: dict[str, Any], tmp_path: Path
) -> None:
    data = write_tiny_senteval(tmp_path / "part", without={"SICK"})
    given = {**small, "senteval_data": str(data), "tasks": "STS13,SICK14", "random_seeds": "none"}
    task = TableOfMultiViewAblations(**given)

    assert build(task)

    table = made(task)
    measured = {line.full_title: line for line in table.lines if line.is_measured}
    sts13, sick = ([one.name for one in table.columns].index(name) for name in ("STS13", "SICK14"))
    for title in ("B-D, z_en (0-SEQ)", "B-D, f1 beside g1, ensemble", "word vectors, mean"):
        cells = measured[title].cells
        assert cells[sts13].value is not None and cells[sts13].num_seeds == 1
        assert "SICK" in cells[sick].reason
        assert all((task.folder / folder).is_dir() for folder in measured[title].folders)
    sources = [line.source for line in table.lines if line.full_title == "B-D, ensemble"]
    assert sources == ["here", "B, table 6, discriminative, en(z^f, z^g)"]
    assert len(table.trainings) == 7
    with (task.folder / "table.csv").open(encoding="utf-8") as stream:
        assert any(line["column"] == "SICK14" and line["reason"] for line in csv.DictReader(stream))
    before = (task.folder / "table.md").stat().st_mtime_ns
    assert build(TableOfMultiViewAblations(**given))
    assert (task.folder / "table.md").stat().st_mtime_ns == before

    write_tiny_senteval(data)
    luigi.task_register.Register.clear_instance_cache()
    again = TableOfMultiViewAblations(**given)
    assert not again.complete()
    assert build(again)
    assert made(again).lines[0].cells[sick].value is not None


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_a_sweep_marks_the_best_cell(small: dict[str, Any]) -> None:
    given = {**small, "changes": {name: SMALL[name] for name in ("batch_size", "held_out_batches")}}
    del given["width"]
    task = Sweep(**given, grid={"hidden_size": [4, 6]}, views="SEQ,BOW", tasks="TREC")

    assert build(task)

    table = made(task)
    assert [line.best_by for line in table.lines[:2]].count("development score") == 1
    assert any(sentence.startswith("Best by development score") for sentence in task.headline())
