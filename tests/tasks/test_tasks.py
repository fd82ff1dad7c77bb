"""Tasks: paths that follow every significant parameter, and a graph that composes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import luigi
import pytest
from luigi.task_register import load_task

from models.evaluation.tasks.declarations import DERIVED as DERIVED_TASKS
from pipeline.base.bundled import BUNDLED_MODELS
from tasks import (
    BuildProbing,
    EvaluateEncoder,
    EvaluateTask,
    ParseConstituents,
    ParseDependencies,
    RunAll,
    SplitSentences,
    TrainDependencyParser,
    TrainEncoders,
    TrainWordVectors,
    WriteReport,
)
from tasks.artefact import Artefact
from tests.support.sentence_shards import parser_description

DERIVED: dict[str, object] = {"derived": True, "task": "Tense"}
STAGES: list[tuple[type[Artefact], dict[str, object]]] = [
    (SplitSentences, {}),
    (ParseDependencies, {}),
    (ParseConstituents, {}),
    (TrainEncoders, {}),
    (TrainWordVectors, {}),
    (BuildProbing, {}),
    (EvaluateTask, DERIVED),
    (WriteReport, {}),
]


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


@pytest.mark.parametrize(("stage", "own"), STAGES, ids=lambda value: getattr(value, "__name__", ""))
def test_output_stands_in_a_folder_that_ends_in_the_digest(
    stage: type[Artefact], own: dict[str, object], tmp_path: Path, text: Path
) -> None:
    task = stage(work_folder=tmp_path, source="files", paths=str(text), **own)

    assert any(part.endswith(task.digest) for part in Path(task.output().path).parts)
    assert Path(task.output().path).is_relative_to(tmp_path)


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
        ("max_restarts", 3),
        ("gemm", "onednn"),
        ("sentences_at_once", 64),
        ("keep_checkpoints", 5),
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


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("threads", -1, "threads must be 0 or more, not -1"),
        ("processes", 0, "processes must be at least 1, got 0"),
        ("max_restarts", -1, "max_restarts must be at least 0, got -1"),
        ("sentences_at_once", 0, "run setting sentences_at_once must be at least 1, got 0"),
        ("sentences_at_once", -3, "run setting sentences_at_once must be at least 1, got -3"),
        ("keep_checkpoints", 0, "keep_checkpoints must be at least 1"),
        ("checkpoint_every_seconds", -1.0, "checkpoint_every_seconds must be at least 0"),
    ],
)
def test_a_machine_setting_that_cannot_be_is_refused(
    parameter: str, value: float, message: str, tmp_path: Path, text: Path
) -> None:
    luigi.task_register.Register.clear_instance_cache()
    task = TrainEncoders(
        work_folder=tmp_path, source="files", paths=str(text), **{parameter: value}
    )

    with pytest.raises(ValueError, match=message):
        task.run()
    assert not task.folder.exists()


def test_the_job_of_a_training_holds_its_machine_settings(
    tmp_path: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs: list[dict[str, Any]] = []
    monkeypatch.setattr(
        "tasks.training.run_job", lambda task, module, job, path, *, threads: jobs.append(job)
    )
    given = {
        "device": "cuda",
        "gemm": "onednn",
        "sentences_at_once": 64,
        "keep_checkpoints": 5,
        "checkpoint_every_seconds": 7.5,
    }
    counts = {"threads": 6, "processes": 2, "max_restarts": 3}
    parameters = {"work_folder": tmp_path, "source": "files", "paths": str(text), **given, **counts}
    TrainEncoders(**parameters).run()

    assert jobs[0]["settings"].items() >= given.items()
    assert jobs[0]["launch"] == counts


def test_changed_text_changes_the_path(tmp_path: Path, text: Path) -> None:
    before = path_of(SplitSentences, tmp_path, source="files", paths=str(text))
    luigi.task_register.Register.clear_instance_cache()
    text.write_text("The rain went on for days and nights.\n", encoding="utf-8")

    assert path_of(SplitSentences, tmp_path, source="files", paths=str(text)) != before


def test_other_weights_change_the_path_of_the_parses_and_of_what_reads_them(
    tmp_path: Path, text: Path
) -> None:
    one = parser_folder(tmp_path / "one" / "dependency", b"weights")
    two = parser_folder(tmp_path / "two" / "dependency", b"other weights")
    base = {"source": "files", "paths": str(text)}

    for stage in (ParseDependencies, TrainEncoders, WriteReport):
        before = path_of(stage, tmp_path, dependency_parser=one, **base)
        assert before != path_of(stage, tmp_path, dependency_parser=two, **base)


def test_both_parses_stand_beside_the_sentences(tmp_path: Path, text: Path) -> None:
    base = {"work_folder": tmp_path, "source": "files", "paths": str(text)}
    corpus = SplitSentences(**base).folder.parent

    assert ParseDependencies(**base).folder.parent == corpus
    assert ParseConstituents(**base).folder.parent == corpus


def test_a_preset_brings_its_own_views_unless_others_are_given(tmp_path: Path, text: Path) -> None:
    arguments = {"work_folder": tmp_path, "source": "files", "paths": str(text)}

    assert TrainEncoders(**arguments).config.views == ("DEP", "CONST")
    quickthoughts = TrainEncoders(**arguments, preset="quickthoughts")
    assert quickthoughts.config.views == ("SEQ", "SEQ")
    assert set(quickthoughts.requires()) == {"sentences"}
    assert TrainEncoders(**arguments, preset="quickthoughts", views="DEP,SEQ").config.views == (
        "DEP",
        "SEQ",
    )


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


def test_a_view_that_does_not_exist_is_named(tmp_path: Path, text: Path) -> None:
    task = TrainEncoders(work_folder=tmp_path, source="files", paths=str(text), views="DEP,AMR")

    with pytest.raises(ValueError, match=r"views must be one or two of .*BOW, not"):
        task.output()


@pytest.mark.parametrize("encoder", ["random-0", "bag_of_words"])
def test_a_baseline_on_derived_tasks_needs_no_training(
    encoder: str, tmp_path: Path, text: Path
) -> None:
    parameters = {"work_folder": tmp_path, "source": "files", "paths": str(text), "derived": True}
    task = EvaluateTask(encoder=encoder, **parameters, task="WC")
    longer = EvaluateTask(encoder=encoder, changes={"epochs": 9}, **parameters, task="WC")

    assert {name: type(one) for name, one in task.requires().items()} == {"data": BuildProbing}
    assert longer.output().path == task.output().path


def test_a_view_alone_waits_for_the_embeddings_of_the_whole(tmp_path: Path, text: Path) -> None:
    base = {"work_folder": tmp_path, "source": "files", "paths": str(text)}
    alone = {row.name: task for row, task in WriteReport(**base).rows}["view_0-DEP"]

    whole = EvaluateEncoder(**base, derived=True)
    assert alone.requires()["plain"].task_id == whole.task_id
    assert "plain" not in whole.requires()
    assert [task.task for task in alone.evaluations] == [task.name for task in DERIVED_TASKS]


@pytest.mark.parametrize(
    ("own", "width"),
    [
        ({"changes": {"hidden_size": 200}}, 400),
        ({"changes": {"hidden_size": 200, "words_beside": 1.0}}, 500),
        ({"views": "BOW,CONST", "vectors": Path("corpus"), "vector_changes": {"size": 50}}, 306),
    ],
)
def test_the_projected_words_are_as_wide_as_the_trained_views(
    own: dict[str, object], width: int, tmp_path: Path, text: Path
) -> None:
    report = WriteReport(work_folder=tmp_path, source="files", paths=str(text), **own)

    widths = [row.representation.get("project_to_width") for row, _ in report.rows]
    assert [one for one in widths if one is not None] == [width]


def test_each_seed_is_trained_once_and_scored(tmp_path: Path, text: Path) -> None:
    report = WriteReport(
        work_folder=tmp_path, source="files", paths=str(text), seed=4, further_seeds=[4, 7]
    )

    assert [task.seed for task in report.trainings] == [4, 7]
    assert {"pair", "pair_seed_7"} <= {row.name for row, _ in report.rows}


@pytest.mark.parametrize(
    ("parameter", "changes"), [("changes", {"seed": 1}), ("probing_changes", {"seed": 1})]
)
def test_a_change_of_a_field_with_a_parameter_of_its_own_is_refused(
    parameter: str, changes: dict[str, int], tmp_path: Path, text: Path
) -> None:
    task = WriteReport(
        work_folder=tmp_path, source="files", paths=str(text), **{parameter: changes}
    )

    with pytest.raises(ValueError, match=rf"{parameter} sets seed: use the parameters"):
        task.output()


def test_a_missing_parser_is_named(tmp_path: Path, text: Path) -> None:
    nowhere = tmp_path / "nowhere"
    task = ParseDependencies(
        work_folder=tmp_path, source="files", paths=str(text), dependency_parser=nowhere
    )

    with pytest.raises(
        FileNotFoundError, match="nowhere: no such folder or file, and no published"
    ):
        task.output()
    nowhere.mkdir()
    with pytest.raises(
        FileNotFoundError, match=r"nowhere: lacks weights\.safetensors, parser\.json"
    ):
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


@pytest.mark.parametrize(
    ("preset", "views"),
    [
        ("B-G", ["SEQ", "INV"]),
        ("B-GD", ["SEQ", "LIN", "INV"]),
        ("C-bijective", ["SEQ", "INV"]),
    ],
)
def test_the_main_job_scores_a_decoders_inverse_as_one_more_view(
    preset: str, views: list[str], tmp_path: Path, text: Path
) -> None:
    report = RunAll(
        work_folder=tmp_path, source="files", paths=str(text), preset=preset
    ).requires()[0]
    rows = {row.name: task for row, task in report.rows}

    names = [f"{place}-{view}" for place, view in enumerate(views)]
    assert [row for row in rows if row.startswith("view_")] == [f"view_{name}" for name in names]
    for row in ("pair", "random_weights_0"):
        assert list(rows[row].evaluated.views) == names
    assert set(report.training.requires()) == {"sentences"}


def test_the_main_job_is_a_few_dozen_tasks(tmp_path: Path, text: Path) -> None:
    root = RunAll(work_folder=tmp_path, source="files", paths=str(text))
    seen: set[str] = set()
    waiting: list[luigi.Task] = [root]
    while waiting:
        task = waiting.pop()
        if task.task_id not in seen:
            seen.add(task.task_id)
            waiting += task.deps()

    assert len(seen) < 40


def test_a_treebank_that_changes_gives_another_parser(tmp_path: Path) -> None:
    treebank = tmp_path / "train.conllu"
    treebank.write_text("1\tRain\t_\t_\t_\t_\t0\troot\t_\t_\n\n", encoding="utf-8")
    parameters = {"work_folder": tmp_path, "train": str(treebank), "dev": str(treebank)}
    before = TrainDependencyParser(**parameters).output().path
    luigi.task_register.Register.clear_instance_cache()
    treebank.write_text("1\tSnow falls\t_\t_\t_\t_\t0\troot\t_\t_\n\n", encoding="utf-8")

    assert TrainDependencyParser(**parameters).output().path != before


def tasks_under(root: luigi.Task) -> list[luigi.Task]:
    """Every task instance of the graph, also those that share an id."""
    found: list[luigi.Task] = []
    waiting = [root]
    while waiting:
        task = waiting.pop()
        if not any(task is other for other in found):
            found.append(task)
            waiting += task.deps()
    return found


def test_the_device_reaches_every_stage(tmp_path: Path, text: Path) -> None:
    root = RunAll(work_folder=tmp_path, source="files", paths=str(text), device="cuda")

    assert {task.device for task in tasks_under(root)} == {"cuda"}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"paths": "a.txt"}, r"give --source files together with --paths"),
        ({"source": "files"}, r"give --source files together with --paths"),
        ({"url": "http://127.0.0.1/a.txt"}, r"give --source url together with --url"),
        ({"source": "url"}, r"give --source url together with --url"),
    ],
)
def test_parameters_that_contradict_the_source_are_refused(
    parameters: dict[str, str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        SplitSentences(work_folder=tmp_path, **parameters).output()


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


@pytest.mark.slow
def test_what_is_asked_of_senteval_leaves_a_reports_own_rows(tmp_path: Path, text: Path) -> None:
    own = {"work_folder": tmp_path, "source": "files", "paths": str(text)}
    plain = WriteReport(**own)
    asked = WriteReport(**own, representation_changes={"views": ["0-DEP"]}, folds=3)
    scored = WriteReport(**own, folds=3, senteval=True)

    assert asked.digest == plain.digest != scored.digest
    assert [task.digest for _, task in scored.rows] == [task.digest for _, task in plain.rows]
    assert scored.requires()["senteval"].folds == 3
