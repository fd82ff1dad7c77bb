"""Columns are known by their names; tasks that are asked for restrict them."""

from __future__ import annotations

import pytest

from models.experiments.columns import MEAN_BINARY, chosen_columns, column_named, columns

DECLARED = columns("STS14", "MR", "MRPC", "MRPC F1", MEAN_BINARY, "hours")


@pytest.mark.parametrize(
    ("name", "score", "times"),
    [
        ("MR", "accuracy", 1.0),
        ("MRPC F1", "f1", 1.0),
        ("SICK-R rho", "spearman", 1.0),
        ("SICK-R MSE", "mse", 100.0),
        ("STS14", "pearson_mean", 1.0),
        ("STS14 spearman_all", "spearman_all", 1.0),
    ],
)
def test_a_task_and_its_score(name: str, score: str, times: float) -> None:
    column = column_named(name)
    assert (column.name, column.score, column.times) == (name, score, times)
    assert column.tasks == (name.split(maxsplit=1)[0],)


@pytest.mark.parametrize(
    ("tasks", "derived", "names"),
    [
        ("", False, ["STS14", "MR", "MRPC", "MRPC F1", MEAN_BINARY, "hours"]),
        ("MRPC,TREC", False, ["MRPC", "MRPC F1", "hours", "TREC"]),
        ("MR,CR", False, ["MR", "hours", "CR"]),
        ("MR,SentLen", True, ["MR", "hours", "SentLen (derived)"]),
        ("SentLen", False, ["hours", "SentLen"]),
    ],
)
def test_tasks_restrict_the_columns_and_add_their_own(
    tasks: str, derived: bool, names: list[str]
) -> None:
    found = chosen_columns(DECLARED, tasks, derived=derived)
    assert [column.name for column in found] == names


def test_what_is_no_column_is_refused() -> None:
    with pytest.raises(ValueError, match="no column is named 'dimension'; did you mean dimensions"):
        column_named("dimension")
