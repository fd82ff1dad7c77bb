"""What a table says first: its result, and counts that agree with what it shows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from models.experiments.declaration import NotHere, Row, Scale, Untrained
from models.experiments.exports.grid import ABSENT, grid
from models.experiments.exports.outcome import headline, headline_of_all, tally
from tests.support.scored_tables import (
    GENERATIVE,
    MEAN,
    OURS,
    experiment,
    scored,
    scores,
    small_table,
    without,
)

MR_FIRST = ("MR", "STS14", "hours")
BASELINE = MEAN.full_title


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0.9, ", better than “word vectors, mean” with 70.0"),
        (0.5, ", worse than “word vectors, mean” with 70.0"),
        (0.705, "; the test does not tell it from “word vectors, mean” with 70.0"),
    ],
)
def test_the_result_is_the_best_trained_row_beside_the_baseline(share: float, said: str) -> None:
    other = replace(OURS, title="other")
    table = small_table(
        *(scored(other, scores(0.4)), scored(OURS, scores(share)), scored(MEAN, scores(0.7))),
        declared=experiment(other, OURS, MEAN, names=MR_FIRST),
        baseline=BASELINE,
    )

    first = headline(table)[0]

    best = f"A small table, MR: best of 2 trained rows is “B-G, ensemble” with {100 * share:.1f}"
    assert first.startswith(best) and said in first


def test_the_same_model_untrained_stands_beside_the_best() -> None:
    untrained = Row("B-G, random weights", Untrained(GENERATIVE), "ensemble")
    table = small_table(
        scored(OURS, scores(0.8)),
        scored(untrained, scores(0.9), scale=Scale(width=64)),
        declared=experiment(OURS, untrained, names=MR_FIRST),
    )

    assert "the one trained row is “B-G, ensemble” with 80.0" in headline(table)[0]
    assert "Its random weights have 90.0" in headline(table)[0]


def test_a_table_without_scores_says_which_are_absent() -> None:
    nothing = without(without(scores(0.8), "MR", "no file"), "STS14", "no file")
    table = small_table(scored(OURS, nothing))

    assert headline(table) == [
        "A small table: no score; absent: STS14, MR (the notes say why).",
        "0 of 1 row measured here, 0 scores, 2 absent.",
    ]
    assert headline_of_all([table]) == "0 scores measured here in 0 of 1 table, 2 absent."


def test_counts_are_of_scores_and_agree_with_what_the_table_shows() -> None:
    row = Row("another text", NotHere("no second text"))
    table = small_table(
        scored(OURS, without(scores(0.8), "MR", "no file")), declared=experiment(OURS, row)
    )

    shown = [
        cell
        for line in grid(table).rows
        for cell in line.cells
        if not isinstance(cell, str) and cell.text == ABSENT
    ]
    found = tally(table)
    assert (found.rows, found.scores, found.absent) == (1, 1, 3)
    assert len(shown) == found.absent
