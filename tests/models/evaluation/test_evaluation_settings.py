"""Settings of an evaluation: what is refused, what data decide; how views become features."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from treeviews.models.evaluation.evaluate_task import features_by_split, vectors_of
from treeviews.models.evaluation.evaluation_settings import (
    COMPATIBILITY_GRID,
    GRIDS,
    EvaluationSettings,
    ProtocolConfig,
)
from treeviews.models.evaluation.representation import (
    REPRESENTATIONS,
    Representation,
    principal_components,
    projected_in_place,
    random_projection,
    remove_components,
    representation_named,
)
from treeviews.models.evaluation.task_registry import (
    EvaluationTask,
    Features,
    Items,
    TaskData,
)
from treeviews.pipeline.base.settings import Settings

JOB = {"encoder": "english", "tasks": ["MR"], "data": "data", "out": {"MR": "results"}}


@pytest.mark.parametrize(
    ("kind", "fields", "said"),
    [
        (ProtocolConfig, {"penalties": [1.0], "grid_scale": 4.0}, "grid_scale is of SentEval's"),
        (ProtocolConfig, {"classifier": "compatibility", "standardise": True}, "standardise and"),
        (ProtocolConfig, {"compatibility_loss": "mean"}, "is of the classifier compatibility, not"),
        (Representation, {"supervised_pooling": []}, "must name one pooling or several"),
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


# How views become features.

Matrix = npt.NDArray[np.float32]
POOLINGS = ("last", "max", "mean", "min")


def vectors(rows: int, width: int, *, seed: int = 0) -> Matrix:
    found: Matrix = np.random.default_rng(seed).normal(size=(rows, width)).astype(np.float32)
    return found


def views(*names: str, rows: int = 6, width: int = 4) -> dict[str, Matrix]:
    keys = [f"{name}.{pooling}" for name in names for pooling in POOLINGS]
    return {key: vectors(rows, width, seed=i) for i, key in enumerate(keys)}


def unit(matrix: Matrix) -> Matrix:
    scaled: Matrix = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    return scaled


def without_first(matrix: Matrix) -> Matrix:
    """By the definition: numpy's singular value decomposition of the vectors as they are."""
    first = np.linalg.svd(matrix.astype(np.float64), full_matrices=False)[2][0]
    removed: Matrix = (matrix - np.outer(matrix @ first, first)).astype(np.float32)
    return removed


def test_multi_view_supervised_is_table_2_of_the_paper() -> None:
    batch = views("0-SEQ", "1-BOW")

    features = REPRESENTATIONS["multi-view"].apply(batch, "nested_folds")

    f = np.concatenate([batch[f"0-SEQ.{p}"] for p in ("max", "mean", "min", "last")], axis=1)
    g = np.concatenate([batch[f"1-BOW.{p}"] for p in ("max", "mean", "min")], axis=1)
    parts = [unit(without_first(f)), unit(without_first(g))]
    np.testing.assert_allclose(features, np.concatenate(parts, axis=1), atol=1e-5)


def test_impossible_choices_are_found_from_widths_alone() -> None:
    widths = {"0-SEQ.mean": 8, "1-BOW.mean": 4, "words.mean": 4}
    representation = representation_named("multi-view", join_words=True)

    with pytest.raises(ValueError, match=r"different widths .*'0-SEQ': 8, '1-BOW': 4.*; give unsu"):
        representation.check(widths, "similarity")
    representation.changed(views=("BOW",)).check(widths, "similarity")
    representation.changed(unsupervised_combine="concatenate").check(widths, "similarity")


def test_a_projection_in_place_has_its_inner_products_in_as_few_dimensions() -> None:
    vectors = np.random.default_rng(0).standard_normal((9, 6)).astype(np.float32)

    placed = projected_in_place(vectors, 40, seed=3)

    wide = random_projection(vectors, 40, seed=3)
    assert placed.shape == (9, 6)
    np.testing.assert_allclose(placed @ placed.T, wide @ wide.T, rtol=1e-4, atol=1e-4)


# The features of a task's items.

KEY = "0-encoder.last"
BATCH = 128


def embeddings(num_sentences: int, width: int = 5) -> Matrix:
    """Returns vectors that share a direction, so that its removal is seen."""
    random = np.random.default_rng(num_sentences)
    return (random.normal(size=(num_sentences, width)) + 2.0).astype(np.float32)


def items_of(*sentences: npt.ArrayLike) -> Items:
    rows = tuple(np.asarray(column, dtype=np.int64) for column in sentences)
    return Items(rows, np.zeros(len(rows[0]), dtype=np.int64))


def features_of(
    vectors: Matrix,
    splits: dict[str, Items],
    representation: Representation,
    features: Features = "sentence",
) -> dict[str, npt.NDArray[np.float32]]:
    """Returns what is learnt from in each split."""
    task = EvaluationTask("T", "T", "split", "made by hand", "nobody", features=features)
    data = TaskData(tuple(f"s{i}" for i in range(len(vectors))), splits)
    made = vectors_of({KEY: vectors}, task, data, representation, BATCH)
    return {name: x.numpy() for name, x in features_by_split(task, data, made).items()}


def without_own_component(vectors: Matrix) -> Matrix:
    return remove_components(vectors, principal_components(vectors, 1))


def test_pairs_are_difference_and_product_and_nothing_else() -> None:
    vectors = np.array([[1.0, -2.0], [3.0, 4.0], [0.5, 0.0]], dtype=np.float32)
    found = features_of(vectors, {"all": items_of([0, 1], [1, 2])}, Representation(), "pair")
    assert found["all"].tolist() == [[2.0, 6.0, 3.0, -8.0], [2.5, 4.0, 1.5, 0.0]]


def test_passages_are_read_by_their_neighbours() -> None:
    x = embeddings(6, width=2)
    passage = items_of(*([row] for row in range(6)))

    found = features_of(x, {"all": passage}, Representation(), "passage")

    neighbours = [(x[row], x[row + 1]) for row in range(5)]
    sums = [sum(abs(u - v) for u, v in neighbours), sum(u * v for u, v in neighbours)]
    np.testing.assert_allclose(found["all"], [np.concatenate(sums)], rtol=1e-6)


def test_components_are_removed_batch_by_batch_in_the_order_of_the_items() -> None:
    vectors = embeddings(300)
    order = np.random.default_rng(0).permutation(300)
    found = features_of(vectors, {"all": items_of(order)}, Representation(remove_components=1))
    batches = [vectors[order[start : start + BATCH]] for start in (0, 128, 256)]
    np.testing.assert_allclose(
        found["all"],
        np.concatenate([without_own_component(batch) for batch in batches]),
        atol=1e-6,
    )


def test_components_fitted_on_train_know_nothing_of_test() -> None:
    vectors = embeddings(60)
    splits = {"train": items_of(np.arange(40)), "test": items_of(np.arange(40, 60))}
    fitted = Representation(remove_components=1, components_from="train")
    component = principal_components(vectors[:40], 1)

    found = features_of(vectors, splits, fitted)["test"]
    np.testing.assert_allclose(found, remove_components(vectors[40:], component), atol=1e-6)

    changed = vectors.copy()
    changed[40:50] = -3.0 * changed[40:50]
    other = features_of(changed, splits, fitted)["test"]
    np.testing.assert_array_equal(other[10:], found[10:])
