"""Tasks: paths that follow every significant parameter, and a graph that composes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import luigi
import pytest
from luigi.task_register import load_task

from tests.support.sentence_shards import parser_description
from treeviews.pipeline.base.bundled import BUNDLED_MODELS
from treeviews.tasks import (
    BuildProbing,
    EvaluateTask,
    ParseDependencies,
    RunAll,
    SplitSentences,
    TrainDependencyParser,
    TrainEncoders,
    TrainWordVectors,
    WriteReport,
)
from treeviews.tasks.artefact import Artefact

DERIVED: dict[str, object] = {"derived": True, "task": "Tense"}


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "story.txt"
    path.write_text("The rain stopped. The children ran out.\n", encoding="utf-8")
    return path


def parser_folder(folder: Path, weights: bytes) -> Path:
    folder.mkdir(parents=True)
    (folder / "weights.safetensors").write_bytes(weights)
    (folder / "parser.json").write_text(parser_description(), encoding="utf-8")
    return folder


def path_of(stage: type[Artefact], work: Path, **parameters: object) -> str:
    return str(stage(work_folder=work, **parameters).output().path)


@pytest.mark.parametrize(
    ("stage", "own", "parameter", "value"),
    [
        (SplitSentences, {}, "limit", 10),
        (SplitSentences, {}, "min_tokens", 2),
        (SplitSentences, {}, "max_tokens", 50),
        (SplitSentences, {}, "paragraphs", "line"),
        (SplitSentences, {}, "encoding", "latin-1"),
        (BuildProbing, {}, "held_out_fraction", 0.5),
        (BuildProbing, {}, "held_out_seed", 3),
        (BuildProbing, {}, "held_out_unit", "block"),
        (BuildProbing, {}, "probing_seed", 3),
        (BuildProbing, {}, "probing_changes", {"test_size": 50}),
        (WriteReport, {}, "further_seeds", [5]),
        (ParseDependencies, {}, "limit", 10),
        (TrainEncoders, {}, "views", "SEQ,DEP"),
        (TrainEncoders, {}, "preset", "structured-views"),
        (TrainEncoders, {}, "changes", {"epochs": 7}),
        (TrainEncoders, {}, "seed", 3),
        (TrainEncoders, {}, "held_out_fraction", 0.5),
        (TrainEncoders, {}, "max_tokens", 50),
        (TrainWordVectors, {}, "vector_changes", {"size": 7}),
        (EvaluateTask, DERIVED, "seed", 3),
        (EvaluateTask, DERIVED | {"encoder": "random-0"}, "changes", {"hidden_size": 8}),
        (EvaluateTask, DERIVED, "encoder", "bag_of_words"),
        (EvaluateTask, DERIVED, "representation_changes", {"views": ["0-DEP"]}),
        (EvaluateTask, DERIVED, "protocol_changes", {"standardise": False}),
        (EvaluateTask, DERIVED, "probing_seed", 3),
        (EvaluateTask, {"task": "Tense"}, "derived", True),
        (WriteReport, {}, "seed", 3),
    ],
)
def test_a_significant_parameter_changes_the_path(
    stage: type[Artefact],
    own: dict[str, object],
    parameter: str,
    value: object,
    tmp_path: Path,
    text: Path,
) -> None:
    base: dict[str, object] = {"source": "files", "paths": str(text), **own}

    before = path_of(stage, tmp_path, **base)
    after = path_of(stage, tmp_path, **(base | {parameter: value}))

    assert before != after


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("threads", 7),
        ("device", "cuda"),
        ("processes", 2),
        ("gemm", "onednn"),
        ("sentences_at_once", 64),
        ("checkpoint_every_seconds", 5.0),
    ],
)
def test_a_machine_setting_changes_no_path(
    parameter: str, value: object, tmp_path: Path, text: Path
) -> None:
    base: dict[str, object] = {"source": "files", "paths": str(text)}

    assert path_of(WriteReport, tmp_path, **base) == path_of(
        WriteReport, tmp_path, **(base | {parameter: value})
    )


def test_the_job_of_a_training_holds_its_machine_settings(
    tmp_path: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs: list[dict[str, Any]] = []
    monkeypatch.setattr(
        "treeviews.tasks.training.run_job",
        lambda task, module, job, path, *, threads: jobs.append(job),
    )
    given = {
        "device": "cuda",
        "gemm": "onednn",
        "sentences_at_once": 64,
        "checkpoint_every_seconds": 7.5,
    }
    counts = {"threads": 6, "processes": 2}
    parameters = {"work_folder": tmp_path, "source": "files", "paths": str(text), **given, **counts}
    TrainEncoders(**parameters).run()

    assert jobs[0]["settings"].items() >= given.items()
    assert jobs[0]["launch"].items() >= counts.items()


def test_other_weights_change_the_path_of_the_parses_and_of_what_reads_them(
    tmp_path: Path, text: Path
) -> None:
    one = parser_folder(tmp_path / "one" / "dependency", b"weights")
    two = parser_folder(tmp_path / "two" / "dependency", b"other weights")
    base = {"source": "files", "paths": str(text)}

    for stage in (ParseDependencies, TrainEncoders, WriteReport):
        before = path_of(stage, tmp_path, dependency_parser=one, **base)
        assert before != path_of(stage, tmp_path, dependency_parser=two, **base)


@pytest.mark.parametrize(
    ("views", "needed"),
    [
        ("SEQ,SEQ", {"sentences"}),
        ("DEP,SEQ", {"sentences", "dependencies"}),
        ("SEQ,CONST", {"sentences", "constituents"}),
        ("DEP,CONST", {"sentences", "dependencies", "constituents"}),
    ],
)
def test_training_requires_only_the_parses_its_views_read(
    views: str, needed: set[str], tmp_path: Path, text: Path
) -> None:
    task = TrainEncoders(work_folder=tmp_path, source="files", paths=str(text), views=views)

    assert set(task.requires()) == needed


@pytest.mark.parametrize("encoder", ["random-0", "bag_of_words"])
def test_a_baseline_on_derived_tasks_needs_no_training(
    encoder: str, tmp_path: Path, text: Path
) -> None:
    parameters = {"work_folder": tmp_path, "source": "files", "paths": str(text), "derived": True}
    task = EvaluateTask(encoder=encoder, **parameters, task="WC")
    longer = EvaluateTask(encoder=encoder, changes={"epochs": 9}, **parameters, task="WC")

    assert {name: type(one) for name, one in task.requires().items()} == {"data": BuildProbing}
    assert longer.output().path == task.output().path


@pytest.mark.parametrize(
    ("parameter", "changes"), [("changes", {"seed": 1}), ("probing_changes", {"seed": 1})]
)
def test_a_change_of_a_field_with_a_parameter_of_its_own_is_refused(
    parameter: str, changes: dict[str, int], tmp_path: Path, text: Path
) -> None:
    task = WriteReport(
        work_folder=tmp_path, source="files", paths=str(text), **{parameter: changes}
    )

    with pytest.raises(ValueError, match="seed: has a parameter of its own"):
        task.output()


def test_the_main_job_scores_the_pair_beside_all_its_baselines(tmp_path: Path, text: Path) -> None:
    report, *stages = RunAll(work_folder=tmp_path, source="files", paths=str(text)).requires()

    assert {row.name for row, _ in report.rows} >= {
        "pair",
        "view_0-DEP",
        "view_1-CONST",
        "random_weights_0",
        "random_weights_1",
        "random_weights_2",
        "bag_of_words",
        "bag_of_words_projected",
        "sif",
        *BUNDLED_MODELS,
        "pair_and_bag_of_words",
    }
    assert [task for _, task in report.rows] == report.requires()["rows"]
    assert stages == report.requires()["stages"]


def test_the_main_job_is_a_few_dozen_tasks(tmp_path: Path, text: Path) -> None:
    root = RunAll(work_folder=tmp_path, source="files", paths=str(text))
    seen: set[str] = set()
    waiting: list[luigi.Task] = [root]
    while waiting:
        task = waiting.pop()
        if task.task_id not in seen:
            seen.add(task.task_id)
            waiting += luigi.task.flatten(task.requires())

    assert len(seen) < 40


def test_a_treebank_that_changes_gives_another_parser(tmp_path: Path) -> None:
    treebank = tmp_path / "train.conllu"
    treebank.write_text("1\tRain\t_\t_\t_\t_\t0\troot\t_\t_\n\n", encoding="utf-8")
    parameters = {"work_folder": tmp_path, "train": str(treebank), "dev": str(treebank)}
    before = TrainDependencyParser(**parameters).output().path
    luigi.task_register.Register.clear_instance_cache()
    treebank.write_text("1\tSnow falls\t_\t_\t_\t_\t0\troot\t_\t_\n\n", encoding="utf-8")

    assert TrainDependencyParser(**parameters).output().path != before


def test_a_task_that_luigi_makes_anew_has_its_whole_address_and_tells_none(tmp_path):
    url = "https://me:hunter2@host/x?token=q"
    task = SplitSentences(source="url", url=url, sha256="0" * 64, work_folder=tmp_path)

    shown = task.to_str_params()
    assert "hunter2" not in str(shown)
    assert load_task("tasks", "SplitSentences", shown).url == url
    try:
        raise ValueError(f"cannot open {url}")
    except ValueError as error:
        assert "https://***@host" in task.on_failure(error)
        assert "hunter2" not in task.on_failure(error)
