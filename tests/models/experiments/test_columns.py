"""Columns are known by their names; tasks that are asked for restrict them."""

from __future__ import annotations

import pytest

from models.experiments.columns import (
    MEAN_BINARY,
    MEAN_RELATEDNESS,
    chosen_columns,
    column_named,
    columns,
)


@pytest.mark.parametrize(
    ("name", "score", "times"),
    [
        ("MR", "accuracy", 1.0),
        ("MRPC F1", "f1", 1.0),
        ("SICK-R", "pearson", 1.0),
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


def test_averages_and_facts() -> None:
    assert set(column_named("avg7").tasks) >= {"MR", "SICK-R"}
    assert column_named(MEAN_RELATEDNESS).tasks == ("SICK-R", "STS-B")
    assert column_named("hours").fact == "hours" and column_named("hours").tasks == ()
    assert column_named("SICK-R MSE").lower_is_better


def test_what_is_no_column_is_refused() -> None:
    with pytest.raises(ValueError, match="no column is named 'dimension'; did you mean dimensions"):
        column_named("dimension")


DECLARED = columns("STS14", "MR", "MRPC", "MRPC F1", MEAN_BINARY, "hours")


def names(tasks: str, *, derived: bool = False) -> list[str]:
    return [column.name for column in chosen_columns(DECLARED, tasks, derived=derived)]


def test_all_columns_stand_where_no_task_is_named() -> None:
    assert names("") == names("all") == [column.name for column in DECLARED]


def test_tasks_restrict_the_columns_and_add_their_own() -> None:
    assert names("MRPC,TREC") == ["MRPC", "MRPC F1", "hours", "TREC"]


def test_an_average_stands_where_all_of_its_tasks_do() -> None:
    assert MEAN_BINARY in names("MR,CR,SUBJ,MPQA,SST2")
    assert MEAN_BINARY not in names("MR,CR,SUBJ,MPQA")


def test_derived_tasks_stand_beside_or_alone() -> None:
    assert names("", derived=True)[-1] == "DC (derived)"
    assert names("SentLen,TreeDepth", derived=True) == [
        *("hours", "SentLen (derived)", "TreeDepth (derived)")
    ]
    assert names("MR,SentLen", derived=True) == ["MR", "hours", "SentLen (derived)"]
    assert names("SentLen") == ["hours", "SentLen"]


def test_an_unknown_task_is_refused() -> None:
    with pytest.raises(ValueError, match="no evaluation task is named 'MRR'"):
        names("MRR")
