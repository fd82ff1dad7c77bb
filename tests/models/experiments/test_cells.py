"""The width of what is scored is that of one sentence, whatever a classifier reads of it."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from models.evaluation.evaluate_task import FEATURES
from models.evaluation.evaluation_task import SENTENCES_OF, Features
from models.evaluation.task_result import TaskResult
from models.experiments.cells import measured_cell
from models.experiments.columns import column_named
from tests.support.evaluation_examples import answers, result, similarities, task
from tests.support.scored_tables import MEAN, scored

WIDTH = 8


def on(features: Features, *, learns: bool = True) -> TaskResult:
    """Returns a result on a task whose features are as they are made of sentences of `WIDTH`."""
    sentences = [np.ones((1, WIDTH), np.float32)] * SENTENCES_OF[features]
    width = sum(part.shape[1] for part in FEATURES[features](sentences)) if learns else WIDTH
    made = (
        result(answers(20, 0.5), task("MR"))
        if learns
        else result(similarities(20, 0.5), task("STS14", "similarity"))
    )
    return replace(
        made,
        task=replace(made.task, features=features),
        outcome=replace(made.outcome, width=width),
    )


@pytest.mark.parametrize("features", get_args(Features))
def test_dimensions_are_those_of_one_sentence(features: Features) -> None:
    row = scored(MEAN, {"MR": on(features)})

    assert measured_cell(row, column_named("dimensions")).value == WIDTH


def test_a_pair_that_is_compared_by_cosine_is_not_wider_than_a_sentence() -> None:
    row = scored(MEAN, {"STS14": on("pair", learns=False)})

    assert measured_cell(row, column_named("dimensions")).value == WIDTH
