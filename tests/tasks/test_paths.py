"""What of a stage's parameters makes another folder, and what it requires."""

# ruff: noqa: E501 (a line a row)

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import luigi
import pytest

from tests.support import embedding_functions
from tests.support.parsed_corpora import write_vectors
from tests.support.saved_models import write_model
from tests.support.sentence_shards import parser_description
from tests.support.stories import write_stories
from tests.support.tiny_senteval import write_tiny_senteval
from treeviews.pipeline.base.bundled import BUNDLED_MODELS, BUNDLED_PARSERS, shipped_parsers
from treeviews.pipeline.parsers.parser_files import checksum_of_parser_folder
from treeviews.tasks import (
    BuildProbing,
    CountVocabulary,
    EmbedCorpus,
    EvaluateAll,
    EvaluateTask,
    ExpandVocabulary,
    ParseDependencies,
    RunAll,
    SplitSentences,
    TableOfJointObjectives,
    TrainDependencyParser,
    TrainEncoders,
    TrainWordVectors,
    WriteReport,
)
from treeviews.tasks.artefact import Artefact

FUNCTION = f"{embedding_functions.__name__}:letters"
OTHER_PARSER = {"dependency_parser": shipped_parsers("dependencies")["dependency-large"]}
PUBLISHED = {"dependency_parser": "biaffine-dep-en"}
CHECKSUM = checksum_of_parser_folder(BUNDLED_PARSERS["dependencies"])


@pytest.fixture
def given(tmp_path: Path) -> dict[str, Any]:
    """What stages are given, each what it has a parameter for."""
    luigi.task_register.Register.clear_instance_cache()
    return {
        "work_folder": tmp_path / "work",
        "source": "files",
        "paths": str(write_stories(tmp_path / "text", num_documents=1, num_sentences=3)),
        "senteval_data": str(write_tiny_senteval(tmp_path / "data")),
        "vectors": write_vectors(tmp_path / "vectors", size=6),
    }


def stage_of(kind: type[Any], given: dict[str, Any], changes: dict[str, Any]) -> Any:
    """Returns a stage as a run of its own makes it."""
    luigi.task_register.Register.clear_instance_cache()
    names = {name for name, _ in kind.get_params()}
    return kind(**{name: value for name, value in given.items() if name in names} | changes)


def folders(kind: type[Artefact], given: dict[str, Any], *changes: dict[str, Any]) -> list[Path]:
    return [stage_of(kind, given, change).folder for change in changes]


HELD_OUT = {"held_out_fraction": 0.6, "held_out_seed": 3, "held_out_unit": "block", "limit": 1}
TRAINED = {"seed": 3, "views": "SEQ,BOW", "preset": "quickthoughts", "changes": {"epochs": 9}}
SCORED = {"limit": 1, "held_out_fraction": 0.4, "representation": "multi-view", "folds": 5}
SCORED |= TRAINED | {"classifier": "compatibility", "representation_changes": {"normalise": True}}
ALSO_SCORED = (
    {"classifier": "compatibility", "compatibility_loss": "mean"},
    {"representation_changes": {"views": ["0-DEP"]}},
)
MACHINE = {"threads": 7, "device": "cuda", "processes": 2, "gemm": "onednn"}
MACHINE |= {"sentences_at_once": 64, "checkpoint_every_seconds": 5.0}
SCORING = {"threads": 7, "gemm": "onednn", "accept_unverified": True, "on_refusal": "zero"}
OF_TASK = {"encoder": "trained", "task": "MR"}
OF_TABLE = {"encoder": "trained", "tasks": "MR"}
OF_DERIVED = {"derived": True, "task": "Tense", "senteval_data": ""}
CLEANED = {"cleaning_changes": {"duplicates": "exact"}, "paragraphs": "line"}
RIDGE = {"expansion_changes": {"ridge": 0.2}, "changes": {"epochs": 2}}
RANDOM = {"encoder": "random-0"}


@dataclass(frozen=True)
class Case:
    """A stage, and what of its parameters makes another folder of it."""

    stage: type[Artefact]
    own: dict[str, Any]
    """What it always has."""
    changes: dict[str, Any]
    """Each makes a folder of its own."""
    more: tuple[dict[str, Any], ...] = ()
    """And each of these."""
    same: dict[str, Any] = field(default_factory=dict)
    """What makes none, all together."""


# fmt: off
CASES = (
    Case(SplitSentences, {}, CLEANED | {"limit": 9, "min_tokens": 2, "encoding": "latin-1"}),
    Case(CountVocabulary, {}, {"max_words": 7, "min_count": 2, "limit": 2}),
    Case(TrainWordVectors, {}, HELD_OUT | {"vector_changes": {"size": 7}, "max_tokens": 9}),
    Case(BuildProbing, {}, HELD_OUT | {"probing_seed": 3, "probing_changes": {"test_size": 50}}),
    Case(ParseDependencies, {}, OTHER_PARSER | {"limit": 9, "parser_precision": "fast"},
         same={"parser_batch_tokens": 9, "dependency_parser_sha256": CHECKSUM.upper()}),
    Case(TrainEncoders, {}, TRAINED | HELD_OUT | OTHER_PARSER | {"max_tokens": 50}, same=MACHINE),
    Case(ExpandVocabulary, {"views": "SEQ,LIN"}, RIDGE | {"seed": 3, "views": "SEQ,SEQ", "limit": 3},
         same={"changes": {"word_vectors": "trained"}}),
    Case(EmbedCorpus, {}, {"dtype": "float16", "encoder": "bag_of_words", "limit": 3},
         ({"encoder": FUNCTION, "encoder_version": "1"}, {"encoder": FUNCTION, "encoder_version": "2"}),
         same={"device": "cuda", "engine": "ray"}),
    Case(EvaluateTask, OF_TASK, SCORED | {"task": "CR", "encoder": "trained-1"},
         (*ALSO_SCORED, RANDOM), same=SCORING),
    Case(EvaluateTask, OF_DERIVED, {"seed": 3, "encoder": "random-0", "probing_seed": 3},
         (RANDOM | {"changes": {"hidden_size": 8}}, {"protocol_changes": {"standardise": False}})),
    Case(EvaluateAll, OF_TABLE, SCORED | {"tasks": "MR,CR", "encoder": "trained,sif"},
         (*ALSO_SCORED, RANDOM), same=SCORING),
    Case(WriteReport, {}, {"further_seeds": [5], "seed": 3}, same=MACHINE),
    Case(TableOfJointObjectives, {"vectors": "corpus"}, {"tasks": "MR", "seeds": "0,1", "width": 8},
         ({"derived": True}, {"vector_changes": {"size": 3}}), same={"threads": 7}),
)
# fmt: on
HAVE_MANY_BELOW = (WriteReport, TableOfJointObjectives)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case,
            id=f"{place}-{case.stage.__name__}",
            marks=[pytest.mark.slow] * (case.stage in HAVE_MANY_BELOW),
        )
        for place, case in enumerate(CASES)
    ],
)
def test_what_determines_the_content_changes_the_path_and_nothing_else_does(
    case: Case, given: dict[str, Any]
) -> None:
    changes = [{name: value} for name, value in case.changes.items()] + [*case.more]
    others = folders(case.stage, given | case.own, {}, *changes)
    assert len(set(others)) == 1 + len(changes)
    assert folders(case.stage, given | case.own, case.same) == others[:1]


def test_a_checkpoint_is_known_by_its_sha256(given: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "own.pt").write_bytes(b"a checkpoint")
    own = {"dependency_parser": tmp_path / "own.pt"}
    sums = [own | {"dependency_parser_sha256": sha256} for sha256 in ("ab12", "AB12", "cd34")]
    for stage in (ParseDependencies, TrainEncoders):
        same, upper, other = folders(stage, given, *sums)
        assert same == upper != other


def test_files_that_change_make_other_folders(given: dict[str, Any], tmp_path: Path) -> None:
    def all_folders() -> set[Path]:
        treebanks = {"train": str(treebank), "dev": str(treebank)}
        parser = {"dependency_parser": tmp_path / "parser"}
        return {
            *folders(TrainDependencyParser, given, treebanks),
            *(folders(kind, given, parser)[0] for kind in (ParseDependencies, TrainEncoders)),
            *folders(EvaluateTask, given, OF_TASK),
            *folders(EvaluateAll, given, OF_TABLE),
            *folders(EmbedCorpus, given, {"encoder": str(model)}),
        }

    treebank = tmp_path / "train.conllu"
    treebank.write_text("1\tRain\t_\t_\t_\t_\t0\troot\t_\t_\n\n", encoding="utf-8")
    weights = tmp_path / "parser" / "weights.safetensors"
    weights.parent.mkdir()
    weights.write_bytes(b"weights")
    (tmp_path / "parser" / "parser.json").write_text(parser_description(), encoding="utf-8")
    model = write_model(tmp_path / "m", given["vectors"], views=("SEQ", "LIN"))
    before = all_folders()

    treebank.write_text("1\tSnow falls\t_\t_\t_\t_\t0\troot\t_\t_\n\n", encoding="utf-8")
    weights.write_bytes(b"other weights")
    reviews = Path(given["senteval_data"]) / "downstream/MR/rt-polarity.pos"
    reviews.write_text("the cow sees the dog here\n", encoding="latin-1")
    shutil.rmtree(model)
    write_model(model, given["vectors"], views=("SEQ", "LIN"), seed=1)

    assert len(before | all_folders()) == 2 * len(before) == 12


@pytest.mark.parametrize("encoder", ["bag_of_words", "sif", "random-0", FUNCTION])
def test_a_baseline_needs_no_training(encoder: str, given: dict[str, Any]) -> None:
    own = {"encoder": encoder, "encoder_version": "1"}
    task = stage_of(EvaluateTask, given, own)
    other = {"changes": {"epochs": 9}, "seed": 4, "limit": 1}
    assert not task.requires()
    assert stage_of(EvaluateTask, given, own | other).folder == task.folder
    own |= {"derived": True, "senteval_data": "", "task": "WC"}
    assert isinstance(stage_of(EvaluateTask, given, own).requires()["data"], BuildProbing)
    own = {"encoder": encoder, "encoder_version": "1", "vectors": "corpus"}
    words = {"representation_changes": {"join_words": True}}
    joined = stage_of(EvaluateTask, given, own | words)
    trained = joined.requires()["vectors"]
    assert joined.job().encoder_settings["vectors"] == str(trained.folder)


@pytest.mark.parametrize(
    ("stage", "changes", "needed"),
    [
        (TrainEncoders, {"views": "SEQ,SEQ"}, {"sentences"}),
        (TrainEncoders, {"views": "DEP,SEQ"}, {"sentences", "dependencies"}),
        (TrainEncoders, {"views": "SEQ,CONST"}, {"sentences", "constituents"}),
        (TrainEncoders, {"views": "SEQ,LIN", "vectors": "corpus"}, {"sentences", "vectors"}),
        (EmbedCorpus, {}, {"sentences"}),
        (
            EmbedCorpus,
            {"encoder": "english-trees"},
            {"sentences", "dependencies", "constituents"},
        ),
        (EvaluateTask, {"encoder": "trained-4"}, {"model"}),
        (ParseDependencies, {}, {"sentences"}),
        (
            ParseDependencies,
            {"dependency_parser": "biaffine-dep-en"},
            {"sentences", "dependency_parser"},
        ),
    ],
)
def test_a_stage_requires_what_it_reads_and_no_more(
    stage: type[Artefact], changes: dict[str, Any], needed: set[str], given: dict[str, Any]
) -> None:
    required = stage_of(stage, given, changes).requires()
    assert set(required) == needed


def test_expanded_and_joined_words_make_encoders_of_their_own(given: dict[str, Any]) -> None:
    own = {"views": "SEQ,LIN", "changes": {"trained_words": 18}, "task": "MR"}
    given_words, expanded, both, of_seed = (
        stage_of(EvaluateTask, given, own | {"encoder": name}).evaluated
        for name in ("trained", "expanded", "ensemble", "ensemble-4")
    )
    assert both.spec == f"{given_words.spec}+{expanded.spec}"
    assert both.views == ("0-SEQ", "1-LIN", "2-SEQ", "3-LIN")
    assert set(both.requires) == {"model", "expanded"}
    assert of_seed.seed == 4 and of_seed.name == both.name and of_seed.spec != both.spec
    assert len({one.name for one in (given_words, expanded, both)}) == 3


def test_the_main_job_scores_what_it_trains_beside_its_baselines(given: dict[str, Any]) -> None:
    root = stage_of(RunAll, given, {"further_seeds": [1, 4]})
    report, table, *_ = root.requires()
    random = [f"random-{seed}" for seed in range(3)]
    trained = ["trained", "trained-1", "trained-4"]
    assert table.encoders == [*trained, *random, "bag_of_words", "sif", *BUNDLED_MODELS]
    first = next(task for task in table.requires() if task.encoder == "trained-4")
    assert first.requires()["model"].folder in {task.folder for task in report.trainings}
    names = {row.name for row, _ in report.rows}
    assert names >= {"pair", "view_0-DEP", "view_1-CONST", "bag_of_words", "sif", *BUNDLED_MODELS}
    assert [task for _, task in report.rows] == report.requires()["rows"]
    seen: dict[str, luigi.Task] = {}
    waiting: list[luigi.Task] = [root]
    for task in waiting:
        if task.task_id not in seen:
            seen[task.task_id] = task
            waiting += luigi.task.flatten(task.requires())
    assert len(seen) < 50
