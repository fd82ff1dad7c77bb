"""Result files: round trips, versions, damage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.edited_json import edit
from tests.support.evaluation_examples import ENCODER, answers, result, similarities, task
from treeviews.models.evaluation.scores import Predictions
from treeviews.models.evaluation.task_registry import Items, TaskData
from treeviews.models.evaluation.task_result import (
    AbsentResult,
    DataRecord,
    EncoderIdentity,
    Setup,
    TaskResult,
    read_result,
    read_results,
    result_path,
    write_result,
)


def data(*, labels: tuple[int, ...] = (0, 1), sentences: tuple[str, ...] = ("a", "b")) -> TaskData:
    return TaskData(sentences, {"all": Items((np.array([0, 1]),), np.array(labels))})


@pytest.mark.parametrize("made", [answers(90, 0.8), similarities(90, 1.0)])
def test_a_result_is_read_as_it_was_written_to_the_last_digit(
    tmp_path: Path, made: Predictions
) -> None:
    written = result(made, task("STS14", "similarity"))
    write_result(result_path(tmp_path, written.task), written)
    found = read_result(tmp_path / "STS14.json")
    assert isinstance(found, TaskResult)
    for name in ("task", "setup", "data", "scores", "resampling", "seconds"):
        assert getattr(found, name) == getattr(written, name)
    for name in ("counts", "regularisers", "dev_score"):
        assert getattr(found.outcome, name) == getattr(written.outcome, name)
    for name in ("predicted", "gold", "groups"):
        array, before = getattr(found.outcome.predictions, name), getattr(made, name)
        assert array.dtype == before.dtype and (array == before).all()
    assert found.outcome.predictions.group_names == made.group_names


def test_a_folder_gives_its_results_by_task_and_passes_other_files_over(tmp_path: Path) -> None:
    write_result(tmp_path / "TREC.json", result(answers(20, 0.8), task("TREC")))
    setup = read_result(tmp_path / "TREC.json").setup
    absent = AbsentResult(task("CR"), setup, "custrev.pos is missing; run DownloadSentEval")
    write_result(tmp_path / "CR.json", absent)
    (tmp_path / "config.json").write_text("{}")
    found = read_results(tmp_path)
    assert list(found) == ["CR", "TREC"] and found["CR"] == absent
    write_result(tmp_path / "copy.json", absent)
    with pytest.raises(ValueError, match=r"copy\.json: a second result of CR .* beside CR\.json"):
        read_results(tmp_path)


LEARNT = {"classifier": "logistic_regression", "num_folds": 10, "batch_items": 128}
COMPARED = {"classifier": "cosine", "batch_items": 128}


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"encoder": EncoderIdentity("bag of words", "other")}, "encoder"),
        ({"classifier": {**LEARNT, "num_folds": 5}}, r"classifier \(num_folds\)"),
        ({"classifier": {**LEARNT, "protocol_version": 2}}, "version of the protocols"),
    ],
)
def test_results_of_two_evaluations_in_a_folder_are_refused(
    tmp_path: Path, change: dict[str, Any], what: str
) -> None:
    """The task between them, which learns nothing, agrees with both in classifiers."""
    setup = Setup(ENCODER, {"name": "plain"}, LEARNT)
    made = result(answers(20, 0.8), task("MR"))
    write_result(tmp_path / "MR.json", replace(made, setup=setup))
    similarity = result(similarities(20, 1.0), task("STS14", "similarity"))
    compared = replace(similarity, setup=replace(setup, classifier=COMPARED))
    write_result(tmp_path / "STS14.json", compared)
    assert list(read_results(tmp_path)) == ["MR", "STS14"]
    other = replace(made, task=task("TREC"), setup=replace(setup, **change))
    write_result(tmp_path / "TREC.json", other)
    with pytest.raises(ValueError, match=rf"TREC\.json: of another {what} than .*MR\.json; eval"):
        read_results(tmp_path)


DAMAGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "a task result of version 99, .* evaluate": lambda value: value.update(format_version=99),
    "damaged, see scores; delete it and evaluate again": lambda value: value.pop("scores"),
    "its predictions cannot be read .* delete it": lambda value: value["outcome"]["predictions"][
        "gold"
    ].update(base64="AAAA"),
}


@pytest.mark.parametrize("said", DAMAGES)
def test_a_damaged_result_is_refused_with_the_remedy(tmp_path: Path, said: str) -> None:
    path = tmp_path / "MR.json"
    write_result(path, result(answers(20, 0.8), task()))
    edit(path, DAMAGES[said])
    with pytest.raises(ValueError, match=rf"MR\.json: {said}"):
        read_result(path)


def test_the_datas_digest_changes_with_items_labels_and_sentences() -> None:
    plain = DataRecord.of(data())
    assert DataRecord.of(data()) == plain
    relabelled, reworded = DataRecord.of(data(labels=(1, 0))), DataRecord.of(data(sentences="ac"))
    assert len({plain.digest, relabelled.digest, reworded.digest}) == 3
    assert relabelled.sentences_digest == plain.sentences_digest != reworded.sentences_digest
    swapped = replace(data(), splits={"all": Items((np.array([1, 0]),), np.array([0, 1]))})
    assert DataRecord.of(swapped).digest != plain.digest
