"""The table of tasks by encoders and the published averages, from results made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.evaluation_examples import answers, result, similarities, task
from treeviews.models.evaluation.averages import (
    AVERAGES,
    average_difference,
    average_over_tasks,
    average_value,
)
from treeviews.models.evaluation.resampling import Resampling
from treeviews.models.evaluation.task_result import (
    AbsentResult,
    EncoderIdentity,
    Result,
    Setup,
    TaskResult,
    result_path,
    write_result,
)
from treeviews.models.report.evaluation_table import evaluation_table

MEAN_OF_SIX = AVERAGES[2]
ACCURACIES = ("MR", "CR", "SUBJ", "MPQA", "TREC")


def seven(encoder: EncoderIdentity, share: float) -> list[Result]:
    """Returns the results of the seven tasks of the published average."""
    made = answers(100, share)
    results: list[Result] = [result(made, task(name), encoder=encoder) for name in ACCURACIES]
    results.append(result(made, task("MRPC", "folds", f1=True), encoder=encoder))
    related = task("SICK-R", "relatedness")
    return [*results, result(similarities(100, 0.3, subsets=1), related, encoder=encoder)]


def six(encoder: EncoderIdentity) -> list[TaskResult]:
    """Returns the results of the tasks of the mean of six, each with subsets."""
    names = ("STS12", "STS13", "STS14", "STS15", "STS-B-cosine", "SICK14")
    return [
        result(similarities(60, noise, subsets=3), task(name, "similarity"), encoder=encoder)
        for noise, name in enumerate(names, start=1)
    ]


def derived(name: str, corpus: str) -> TaskResult:
    """Returns the result of a derived task with three items a document."""
    made = result(replace(answers(60, 0.8), clusters=np.arange(60) // 3), task(name))
    return replace(made, data=replace(made.data, derived_from=corpus))


def written(folder: Path, results: Sequence[Result]) -> Path:
    for one in results:
        write_result(result_path(folder, one.task), one)
    return folder


def cells(table: str, task_name: str, score: str = "accuracy") -> list[str]:
    """Returns a row's cells after task and score."""
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    return next(row[2:] for row in rows if row[:2] == [task_name, score])


def test_tasks_of_several_corpora_have_no_average(tmp_path: Path) -> None:
    """A document's number has one meaning within one corpus only."""
    one = {"Tense": derived("Tense", "tales"), "BShift": derived("BShift", "tales")}
    mixed = {**one, "BShift": derived("BShift", "letters")}
    few = Resampling(num_resamples=50)
    assert average_over_tasks(one).value == pytest.approx(80.0)
    assert average_difference([one], [one], few) is not None
    assert average_difference([mixed], [mixed], few) is None
    table = evaluation_table([written(tmp_path / "mixed", [*mixed.values()])])
    assert "average of the derived tasks" not in table


def test_one_seed_has_an_interval_and_several_a_deviation(tmp_path: Path) -> None:
    words = written(tmp_path / "words", seven(EncoderIdentity("words", "w"), 0.7))
    trained = [
        written(tmp_path / f"trained-{seed}", seven(EncoderIdentity("trained", str(seed), seed), s))
        for seed, s in enumerate((0.8, 0.84))
    ]
    table = evaluation_table([words, *trained])
    assert "| task | score | words | trained |" in table
    first, second = cells(table, "MR")
    assert first.startswith("70.0 [") and second == "82.0 ± 2.8 (2)"
    first, second = cells(table, "avg7", "")
    assert first.count("[") == 1 and second.endswith("(2)")
    assert "- trained: encoder 0, 1; representation" in table


def test_an_absent_task_is_listed_with_its_reason_and_ends_the_average(tmp_path: Path) -> None:
    encoder = EncoderIdentity("words", "w")
    results = [one for one in seven(encoder, 0.7) if one.task.name != "CR"]
    absent = AbsentResult(task("CR"), Setup(encoder, {"name": "plain"}), "custrev.pos is missing")
    table = evaluation_table([written(tmp_path / "words", [*results, absent])])
    assert "| CR |  | absent |" in table
    assert "- CR: absent (custrev.pos is missing)" in table
    assert cells(table, "avg7", "") == ["not given"]
    assert "- avg7: not given without CR, for words" in table
    assert "mean of six" not in table


def test_the_mean_of_six_is_that_of_all_pairs_of_each_set(tmp_path: Path) -> None:
    made = six(EncoderIdentity("words", "w"))
    pooled = [one.scores["spearman_all"].value for one in made]
    assert average_value(MEAN_OF_SIX, {one.task.name: one for one in made}) == np.mean(pooled)
    table = evaluation_table([written(tmp_path / "words", made)])
    assert cells(table, "mean of six", "")[0].startswith(f"{np.mean(pooled):.1f} [")
    scores, subsets = table.split("## Subsets")
    assert "pearson:g1" in subsets and "pearson:g1" not in scores


def test_what_cannot_stand_side_by_side_is_refused(tmp_path: Path) -> None:
    a = written(tmp_path / "a", [result(answers(40, 0.8), task("MR"))])
    other = EncoderIdentity("other", "o")
    made = result(answers(40, 0.8), task("MR"), encoder=other, data_digest="d1")
    b = written(tmp_path / "b", [made])
    for folders, message in (
        ([a, b], "MR: scored on other data for other than for bag of words; evaluate"),
        ([a, a], "encoder bag of words of digest .* is given twice"),
    ):
        with pytest.raises(ValueError, match=message):
            evaluation_table(folders)
