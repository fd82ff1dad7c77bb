"""The rows of the probing table, declared; how they compare, and which figures bear a sign."""

from __future__ import annotations

import pytest

from tests.support.report_examples import usual_rows
from treeviews.models.encoding.encoder_names import READY
from treeviews.models.report.probing_section import statement
from treeviews.models.report.probing_table import (
    AVERAGE,
    ProbingTable,
    declare_rows,
)
from treeviews.pipeline.base.bundled import BUNDLED_MODELS


def test_rows_are_those_that_must_stand_beside_a_trained_pair() -> None:
    rows = {row.name: row for row in declare_rows(("DEP", "CONST"), embedding_width=40)}
    assert list(rows) == [
        "pair", "view_0-DEP", "view_1-CONST", "random_weights_0", "random_weights_1",
        "random_weights_2", "bag_of_words", "bag_of_words_projected", "sif", *BUNDLED_MODELS,
        "pair_and_bag_of_words", "random_and_bag_of_words",
    ]  # fmt: skip
    assert rows["pair_and_bag_of_words"].representation == {"join_words": True}
    assert rows["bag_of_words_projected"].representation == {"project_to_width": 40}
    assert rows["view_1-CONST"].representation == {"views": ["1-CONST"]}
    assert set(READY) <= {row.encoder for row in rows.values()}
    for name, one in rows.items():
        if name.startswith(("random", *READY)):
            assert not one.encoder.startswith("trained"), name


@pytest.mark.parametrize(
    ("share", "verdict"), [(0.8, "beats"), (0.62, "is not told apart from"), (0.4, "is below")]
)
def test_the_verdict_follows_the_figures(share: float, verdict: str) -> None:
    table = ProbingTable(tuple(usual_rows(share)))
    assert table.comparisons[0].verdict == verdict


@pytest.mark.parametrize(
    ("test_size", "num_absent", "expected"),
    [
        (300, 6, "Only 2 of 8 tasks could be built, 600 test items: too little for a verdict."),
        (200, 0, "All 2 tasks could be built, 400 test items: too little for a verdict."),
        (250, 2, "the trained model beats the same architecture"),
    ],
)
def test_no_verdict_is_given_on_too_little(test_size: int, num_absent: int, expected: str) -> None:
    table = ProbingTable(tuple(usual_rows(0.8)))
    tasks = {name: {"sizes": {"test": test_size}} for name in table.tasks}
    absent = {f"task {number}": "too few" for number in range(num_absent)}
    assert expected in statement(table, {"tasks": tasks, "absent": absent})


def test_signs_are_against_random_weights() -> None:
    table = ProbingTable(tuple(usual_rows(0.8)))
    assert table.baseline == "random weights (3 seeds)"
    assert table.mark("pair", "tense") == table.mark("pair", AVERAGE) == "better"
    assert table.mark("random_weights_0", "tense") == ""
