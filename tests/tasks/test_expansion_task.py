"""A's setting as a run's encoder: trained words expanded, and joined with given ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import luigi
import numpy as np
import pytest

from tests.support.parsed_corpora import stories, write_vectors
from tests.support.tiny_senteval import write_tiny_senteval
from treeviews import models
from treeviews.models.evaluation.task_result import read_results
from treeviews.models.words.word_vectors import load_word_vectors
from treeviews.tasks import EvaluateAll, ExpandVocabulary
from treeviews.tasks.evaluated_encoder import EvaluatedEncoder
from treeviews.tasks.senteval import EvaluateTask

CHANGES = {"hidden_size": 4, "epochs": 1, "batch_size": 8, "trained_words": 18}


@pytest.fixture
def run(tmp_path: Path) -> dict[str, Any]:
    luigi.task_register.Register.clear_instance_cache()
    texts = tmp_path / "texts"
    texts.mkdir()
    for name, sentences in stories(8).items():
        text = "".join(f"{' '.join(tokens)} .\n" for tokens in sentences)
        (texts / f"{name}.txt").write_text(text, encoding="utf-8")
    return {
        "work_folder": tmp_path / "work",
        "source": "files",
        "paths": str(texts),
        "paragraphs": "line",
        "views": "SEQ,LIN",
        "changes": CHANGES,
        "vectors": write_vectors(tmp_path / "vectors", size=6),
        "expansion_changes": {"ridge": 0.1},
    }


def encoder(run: dict[str, Any], called: str) -> EvaluatedEncoder:
    return EvaluateTask(**run, task="MR", encoder=called).evaluated


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 3},
        {"preset": "structured-views"},
        {"views": "SEQ,SEQ"},
        {"limit": 3},
        {"changes": {**CHANGES, "epochs": 2}},
        {"expansion_changes": {"ridge": 0.2}},
        {"expansion_changes": {"ridge": 0.1, "max_words": 20}},
    ],
)
def test_a_significant_parameter_changes_the_path(
    change: dict[str, Any], run: dict[str, Any]
) -> None:
    assert ExpandVocabulary(**run).folder != ExpandVocabulary(**{**run, **change}).folder
    for called in ("expanded", "ensemble"):
        assert encoder(run, called).content != encoder({**run, **change}, called).content


def test_it_expands_trained_words_whatever_the_changes_say(run: dict[str, Any]) -> None:
    task = ExpandVocabulary(**run)
    assert task.training.config.word_vectors == "trained"
    said = {**run, "changes": {**CHANGES, "word_vectors": "trained"}}
    assert ExpandVocabulary(**said).folder == task.folder


def test_an_ensemble_is_the_given_and_the_expanded_model(run: dict[str, Any]) -> None:
    given, expanded, both = (encoder(run, name) for name in ("trained", "expanded", "ensemble"))
    assert both.spec == f"{given.spec}+{expanded.spec}"
    assert both.views == ("0-SEQ", "1-LIN", "2-SEQ", "3-LIN")
    assert set(both.requires) == {"model", "expanded"}
    said = {**run, "changes": {**CHANGES, "word_vectors": "trained"}}
    assert encoder(said, "ensemble").spec == both.spec
    of_seed = encoder(run, "ensemble-4")
    assert of_seed.seed == 4 and of_seed.name == both.name and of_seed.spec != both.spec
    assert len({one.name for one in (given, expanded, both)}) == 3


def test_a_setting_that_cannot_be_is_named_before_anything_runs(run: dict[str, Any]) -> None:
    task = ExpandVocabulary(**{**run, "expansion_changes": {"ridges": 1}})
    with pytest.raises(ValueError, match=r"unknown expansion settings \['ridges'\].*ridge"):
        task.output()
    with pytest.raises(ValueError, match=r"word_vectors must be frozen under the generative"):
        encoder({**run, "preset": "B-G", "views": ""}, "expanded")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_one_parameter_of_a_run_scores_all_three(run: dict[str, Any], tmp_path: Path) -> None:
    data = str(write_tiny_senteval(tmp_path / "data"))
    task = EvaluateAll(
        **run, senteval_data=data, tasks="MR", folds=3, encoder="trained,expanded,ensemble"
    )

    assert luigi.build([task], local_scheduler=True, workers=1, log_level="ERROR")

    given, expanded, both = (encoder(run, name) for name in ("trained", "expanded", "ensemble"))
    sentences = ["the cat sees the dog twice"]
    parts = [models.load(one.spec).encode(sentences) for one in (given, expanded)]
    np.testing.assert_array_equal(models.load(both.spec).encode(sentences), np.hstack(parts))
    assert len(load_word_vectors(Path(expanded.spec) / "words").words) == 22
    table = (task.folder / "evaluation.md").read_text(encoding="utf-8")
    for one in (given, expanded, both):
        assert one.name in table
    results = [read_results(each) for each in task.folder.iterdir() if each.is_dir()]
    assert len(results) == 3
