"""A grid as a table: its cells, and what is refused before any work begins."""

from __future__ import annotations

from typing import Any

import pytest

from treeviews.models.report.experiment import Trained, Untrained
from treeviews.models.report.sweep import Grid, sweep

GRID = {"hidden_size": [100, 300], "learning_rate": [0.0005, 0.002]}


def grid(values: dict[str, Any], *, views: str = "DEP,SEQ", **changes: Any) -> Grid:
    return Grid("laptop", tuple(views.split(",")) if views else (), values, changes)


def test_a_cell_is_a_row_and_an_architecture_one_of_random_weights() -> None:
    experiment = sweep(grid(GRID), representation="plain", changes={"join_words": True})

    trained = [row for row in experiment.rows if isinstance(row.encoder, Trained)]
    untrained = [row for row in experiment.rows if isinstance(row.encoder, Untrained)]
    assert [row.title for row in trained] == [
        f"hidden_size {size}, learning_rate {rate}"
        for size in (100, 300)
        for rate in (0.0005, 0.002)
    ]
    assert len(untrained) == 2
    assert experiment.title == "Sweep over hidden_size, learning_rate of DEP,SEQ by laptop"
    assert experiment.best_by == "development score"
    changes = {row.title: dict(row.changes) for row in experiment.rows}
    assert changes["word vectors"] == {} and trained[0].changes == {"join_words": True}


@pytest.mark.parametrize(
    ("values", "changes", "message"),
    [
        ({}, {}, "--grid names no field"),
        ({"hiden_size": [1]}, {}, "unknown training settings .*did you mean hidden_size"),
        ({"hidden_size": 100}, {}, "--grid: hidden_size must have a list of values, not 100"),
        ({"hidden_size": []}, {}, "must have a list of values"),
        ({"hidden_size": [100, "wide"]}, {}, "cell hidden_size wide: .*hidden_size must be"),
        ({"learning_rate": [-1.0]}, {}, "cell learning_rate -1.0: .*must be positive"),
        ({"hidden_size": [100, 200, 100]}, {}, "the cell hidden_size 100 twice"),
        ({"seed": [0, 1]}, {}, "--grid sets seed: use --seeds"),
        ({"views": [["SEQ", "SEQ"]]}, {}, "--grid and --views both set the views"),
        ({"epochs": [1]}, {"epochs": 2}, "--grid and --changes both set epochs"),
        ({"negatives": [5, 10]}, {}, "varies negatives, which has no effect"),
    ],
)
def test_what_cannot_be_tried_is_refused(
    values: dict[str, Any], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        sweep(grid(values, **changes), representation="plain", changes={})
