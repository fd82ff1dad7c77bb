"""Settings of an evaluation: what is refused, what data decide, and what SentEval fixes."""

from __future__ import annotations

from typing import Any

import pytest

from treeviews.models.evaluation.evaluation_settings import (
    COMPATIBILITY_GRID,
    GRIDS,
    EvaluationSettings,
    ProtocolConfig,
)
from treeviews.models.evaluation.representation import Representation, representation_named
from treeviews.pipeline.base.settings import Settings

JOB = {"encoder": "english", "tasks": ["MR"], "data": "data", "out": {"MR": "results"}}


@pytest.mark.parametrize(
    ("kind", "fields", "said"),
    [
        (ProtocolConfig, {"classifier": "svm"}, "classifier must be 'logistic_regression' or"),
        (ProtocolConfig, {"penalties": [1.0], "grid_scale": 4.0}, "grid_scale is of SentEval's"),
        (ProtocolConfig, {"classifier": "compatibility", "standardise": True}, "standardise and"),
        (ProtocolConfig, {"compatibility_loss": "mean"}, "is of the classifier compatibility, not"),
        (Representation, {"supervised_pooling": []}, "must name one pooling or several"),
        (Representation, {"normalize": True}, "unknown representation settings"),
        (EvaluationSettings, {}, "missing evaluation settings"),
        (EvaluationSettings, JOB | {"task": "MR"}, r"unknown evaluation settings \['task'\]"),
        (EvaluationSettings, JOB | {"protocol": {"num_folds": 1}}, "num_folds must be at least 2"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(
    kind: type[Settings], fields: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        kind.from_dict(fields)


def test_settings_are_the_jobs_json() -> None:
    settings = EvaluationSettings.from_dict(JOB | {"out": {"MR": "results/mr"}})
    assert EvaluationSettings.from_dict(settings.to_dict()) == settings
    assert str(settings.folder("MR")) == "results/mr"
    with pytest.raises(ValueError, match="did you mean multi-view"):
        representation_named("multiview")


DECLARED = {"standardise": True, "penalties": [1e-2, 1.0]}


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, (True, (1e-2, 1.0))),
        ({"standardise": False}, (False, (1e-2, 1.0))),
        ({"penalties": []}, (True, ())),
        ({"grid_scale": 4.0}, (True, None)),
        ({"classifier": "compatibility"}, (None, None)),
    ],
)
def test_what_is_asked_for_goes_before_what_the_data_declare(
    asked: dict[str, object], expected: tuple[object, object]
) -> None:
    config = ProtocolConfig.from_dict(asked).on_data(DECLARED)
    assert (config.standardise, config.penalties) == expected


def test_the_grids_are_senteval_s() -> None:
    assert GRIDS["nested_folds"] == (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
    assert GRIDS["folds"] == (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
    assert GRIDS["split"] == (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
    assert COMPATIBILITY_GRID == (1e-5, 1e-4, 1e-3, 1e-2)
