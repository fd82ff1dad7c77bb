"""From views of all sentences to the features of a task's items."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from models.evaluation.evaluate_task import Featuriser
from models.evaluation.evaluation_task import EvaluationTask, Features, Items, Protocol, TaskData
from models.evaluation.linear_maps import (
    principal_components,
    remove_components,
)
from models.evaluation.representation import Representation

FloatArray = npt.NDArray[np.float32]

KEY = "0-encoder.last"
BATCH = 128


def embeddings(num_sentences: int, width: int = 5) -> FloatArray:
    """Returns vectors that share a direction, so that its removal is seen."""
    random = np.random.default_rng(num_sentences)
    return (random.normal(size=(num_sentences, width)) + 2.0).astype(np.float32)


def single(first: npt.ArrayLike) -> Items:
    rows = np.asarray(first, dtype=np.int64)
    return Items(rows, np.zeros(len(rows), dtype=np.int64))


def several(first: npt.ArrayLike, *further: npt.ArrayLike) -> Items:
    items = single(first)
    others = tuple(np.asarray(rows, dtype=np.int64) for rows in further)
    return Items(items.first, items.labels, others)


def featuriser(
    vectors: FloatArray,
    splits: dict[str, Items],
    representation: Representation,
    *,
    protocol: Protocol = "split",
    features: Features | None = None,
    batch_items: int = BATCH,
) -> Featuriser:
    """Returns the featuriser of a task; what is learnt from is by default that of pairs."""
    is_pair = bool(next(iter(splits.values())).further)
    task = EvaluationTask(
        "T", "T", protocol, "made by hand", "nobody",
        features=features or ("pair" if is_pair else "sentence"),
    )  # fmt: skip
    data = TaskData(tuple(f"s{i}" for i in range(len(vectors))), splits)
    return Featuriser.of({KEY: vectors}, task, data, representation, batch_items)


def without_own_component(vectors: FloatArray) -> FloatArray:
    return remove_components(vectors, principal_components(vectors, 1))


def test_single_sentences_are_looked_up_in_the_order_of_the_items() -> None:
    vectors, items = embeddings(6), single([4, 0, 4, 2])
    found = featuriser(vectors, {"all": items}, Representation()).features(items)
    np.testing.assert_array_equal(found, vectors[[4, 0, 4, 2]])
    assert found.dtype == np.float32


def test_pairs_are_difference_and_product_and_nothing_else() -> None:
    vectors = np.array([[1.0, -2.0], [3.0, 4.0], [0.5, 0.0]], dtype=np.float32)
    items = several([0, 1], [1, 2])
    found = featuriser(vectors, {"train": items}, Representation()).features(items)
    assert found.tolist() == [[2.0, 6.0, 3.0, -8.0], [2.5, 4.0, 1.5, 0.0]]


def test_passages_are_read_by_their_neighbours() -> None:
    x = embeddings(6, width=2)
    passage = several(*([row] for row in range(6)))

    made = featuriser(x, {"train": passage}, Representation(), features="passage")

    neighbours = [(x[row], x[row + 1]) for row in range(5)]
    sums = [sum(abs(u - v) for u, v in neighbours), sum(u * v for u, v in neighbours)]
    np.testing.assert_allclose(made.features(passage), [np.concatenate(sums)], rtol=1e-6)


def test_components_are_removed_batch_by_batch_in_the_order_of_the_items() -> None:
    vectors = embeddings(300)
    order = np.random.default_rng(0).permutation(300)
    made = featuriser(vectors, {"train": single(order)}, Representation(remove_components=1))
    batches = [vectors[order[start : start + BATCH]] for start in (0, 128, 256)]
    np.testing.assert_allclose(
        made.features(single(order)),
        np.concatenate([without_own_component(batch) for batch in batches]),
        atol=1e-6,
    )


def test_components_fitted_on_train_know_nothing_of_test() -> None:
    vectors = embeddings(60)
    splits = {"train": single(np.arange(40)), "test": single(np.arange(40, 60))}
    fitted = Representation(remove_components=1, components_from="train")
    component = principal_components(vectors[:40], 1)

    found = featuriser(vectors, splits, fitted).features(splits["test"])
    np.testing.assert_allclose(found, remove_components(vectors[40:], component), atol=1e-6)

    changed = vectors.copy()
    changed[40:50] = -3.0 * changed[40:50]
    other = featuriser(changed, splits, fitted).features(splits["test"])
    np.testing.assert_array_equal(other[10:], found[10:])


@pytest.mark.parametrize("protocol", ["nested_folds", "similarity"])
def test_without_a_training_split_all_sentences_are_fitted_on(protocol: Protocol) -> None:
    vectors = embeddings(20)
    splits = {"one": single(np.arange(12)), "two": single(np.arange(12, 20))}
    fitted = Representation(remove_components=1, components_from="train")
    made = featuriser(vectors, splits, fitted, protocol=protocol)
    np.testing.assert_allclose(
        made.vectors(np.arange(20)), without_own_component(vectors), atol=1e-6
    )
