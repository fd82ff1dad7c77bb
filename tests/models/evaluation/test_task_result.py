"""Result files: round trips, versions, damage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.evaluation.evaluation_task import Items, TaskData
from models.evaluation.task_result import (
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
from tests.support.edited_json import edit
from tests.support.evaluation_examples import ENCODER, answers, result, similarities, task


def data(*, labels: tuple[int, ...] = (0, 1), sentences: tuple[str, ...] = ("a", "b")) -> TaskData:
    return TaskData(sentences, {"all": Items(np.array([0, 1]), np.array(labels))})


def test_a_result_is_read_as_it_was_written(tmp_path: Path) -> None:
    made = result(answers(90, 0.8), task("MR", f1=True))
    write_result(result_path(tmp_path, made.task), made)
    found = read_result(tmp_path / "MR.json")
    assert isinstance(found, TaskResult)
    for name in ("task", "setup", "data", "scores", "resampling", "seconds"):
        assert getattr(found, name) == getattr(made, name)
    assert found.outcome.counts == made.outcome.counts
    assert found.outcome.regularisers == (0.5, 2.0)
    assert found.outcome.dev_score == 71.5


@pytest.mark.parametrize("made", [answers(90, 0.8), similarities(90, 1.0)])
def test_predictions_lose_no_digit(tmp_path: Path, made) -> None:  # type: ignore[no-untyped-def]
    write_result(tmp_path / "one.json", result(made, task("STS14", "similarity")))
    found = read_result(tmp_path / "one.json")
    assert isinstance(found, TaskResult)
    for name in ("predicted", "gold", "groups"):
        array, before = getattr(found.outcome.predictions, name), getattr(made, name)
        assert array.dtype == before.dtype
        assert (array == before).all()
    assert found.outcome.predictions.group_names == made.group_names


def test_an_absent_task_keeps_its_reason(tmp_path: Path) -> None:
    made = AbsentResult(task("CR"), Setup(ENCODER), "custrev.pos is missing; run DownloadSentEval")
    write_result(tmp_path / "CR.json", made)
    assert read_result(tmp_path / "CR.json") == made


def test_a_folder_gives_its_results_by_task_and_passes_other_files_over(tmp_path: Path) -> None:
    for name in ("TREC", "MR"):
        write_result(tmp_path / f"{name}.json", result(answers(20, 0.8), task(name)))
    (tmp_path / "config.json").write_text("{}")
    assert list(read_results(tmp_path)) == ["MR", "TREC"]


LEARNT = {"classifier": "logistic_regression", "num_folds": 10, "batch_items": 128}
COMPARED = {"classifier": "cosine", "batch_items": 128}


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"encoder": EncoderIdentity("bag of words", "other")}, "encoder"),
        ({"encoder": replace(ENCODER, seed=1)}, "name or seed of the encoder"),
        ({"representation": {"name": "multi-view"}}, "representation"),
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


def test_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "MR.json"
    write_result(path, result(answers(20, 0.8), task()))
    edit(path, lambda value: value.update(format_version=99))
    with pytest.raises(ValueError, match=r"MR\.json: a task result of version 99, .* evaluate"):
        read_result(path)


@pytest.mark.parametrize("damage", ["missing field", "bad array", "unknown field"])
def test_a_damaged_result_is_refused_with_the_remedy(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "MR.json"
    write_result(path, result(answers(20, 0.8), task()))
    damages: dict[str, Callable[[dict[str, Any]], object]] = {
        "missing field": lambda value: value.pop("scores"),
        "bad array": lambda value: value["outcome"]["predictions"]["gold"].update(base64="AAAA"),
        "unknown field": lambda value: value["data"].update(colour="red"),
    }
    edit(path, damages[damage])
    with pytest.raises(ValueError, match=r"MR\.json: not readable .* delete it and evaluate again"):
        read_result(path)


def test_an_edited_result_is_refused_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "MR.json"
    write_result(path, result(answers(20, 0.8), task()))
    text = path.read_text()
    assert '"seed": null' in text
    path.write_text(text.replace('"seed": null', '"seed": 1'))
    with pytest.raises(ValueError, match=r"MR\.json: damaged or edited .* delete it and evaluate"):
        read_result(path)


def test_the_datas_digest_changes_with_items_labels_and_sentences() -> None:
    plain = DataRecord.of(data())
    assert DataRecord.of(data()) == plain
    relabelled, reworded = DataRecord.of(data(labels=(1, 0))), DataRecord.of(data(sentences="ac"))
    assert len({plain.digest, relabelled.digest, reworded.digest}) == 3
    assert relabelled.sentences_digest == plain.sentences_digest != reworded.sentences_digest
    swapped = replace(data(), splits={"all": Items(np.array([1, 0]), np.array([0, 1]))})
    assert DataRecord.of(swapped).digest != plain.digest
