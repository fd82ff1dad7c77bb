"""A grid as a table: its cells, and what is refused before any work begins."""

from __future__ import annotations

from typing import Any

import pytest

from treeviews.models.report.sweep import grid_trainings, sweep

GRID = {"hidden_size": [100, 300], "learning_rate": [0.0005, 0.002]}


def test_a_cell_is_a_row_and_an_architecture_one_of_random_weights() -> None:
    cells = grid_trainings("laptop", ("DEP", "SEQ"), GRID, {})
    experiment = sweep(
        cells, {}, title="Grid", representation="plain", changes={"join_words": True}
    )

    rows = {kind: [row for row in experiment.rows if row.encoder == kind] for kind in
            ("trained", "untrained", "bag_of_words")}  # fmt: skip
    assert [row.title for row in rows["trained"]] == [
        f"hidden_size {size}, learning_rate {rate}"
        for size in (100, 300)
        for rate in (0.0005, 0.002)
    ]
    assert len(rows["untrained"]) == 2
    assert rows["bag_of_words"][0].changes == {}
    assert rows["trained"][0].changes == {"join_words": True}


@pytest.mark.parametrize(
    ("grid", "changes", "message"),
    [
        ({}, {}, "--grid names no field"),
        ({"hiden_size": [1]}, {}, "unknown training settings .*did you mean hidden_size"),
        ({"hidden_size": 100}, {}, "--grid: hidden_size must have a list of values, not 100"),
        ({"hidden_size": [100, "wide"]}, {}, "hidden_size must be"),
        ({"learning_rate": [-1.0]}, {}, "must be positive"),
        ({"seed": [0, 1]}, {}, "--grid sets seed, which another parameter gives"),
        ({"views": [["SEQ", "SEQ"]]}, {}, "--grid sets views, which another parameter gives"),
        ({"epochs": [1]}, {"epochs": 2}, "--grid sets epochs, which another parameter gives"),
        ({"negatives": [5, 10]}, {}, "varies negatives, which has no effect"),
    ],
)
def test_what_cannot_be_tried_is_refused(
    grid: dict[str, Any], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        grid_trainings("laptop", ("DEP", "SEQ"), grid, changes)
