"""Stratified folds: those of scikit-learn, on which SentEval's published numbers rest."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.evaluation.class_protocols import IntArray, stratified_folds

sklearn = pytest.importorskip(
    "sklearn.model_selection", reason="compared with scikit-learn: the extra bench"
)


def scikit_learn_folds(labels: IntArray, num_folds: int, seed: int) -> IntArray:
    found = np.full(len(labels), -1)
    splitter = sklearn.StratifiedKFold(num_folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a class has fewer items than there are folds
        for fold, (_, held_out) in enumerate(splitter.split(labels, labels)):
            found[held_out] = fold
    return found


@st.composite
def labelings(draw: st.DrawFn) -> tuple[IntArray, int, int]:
    """Labels of which one class fills the folds, in any order; number of folds; seed."""
    num_folds = draw(st.integers(2, 12))
    largest = draw(st.integers(num_folds, 60))
    others = draw(st.lists(st.integers(0, 6), max_size=60))
    labels = np.array([draw(st.integers(-1, 7))] * largest + others)
    order = np.random.RandomState(draw(st.integers(0, 1000))).permutation(len(labels))
    return labels[order], num_folds, draw(st.integers(0, 2**32 - 1))


@settings(max_examples=300, deadline=None)
@given(labelings())
def test_folds_are_those_of_scikit_learn(case: tuple[IntArray, int, int]) -> None:
    labels, num_folds, seed = case
    np.testing.assert_array_equal(
        stratified_folds(labels, num_folds, seed=seed),
        scikit_learn_folds(labels, num_folds, seed),
    )


@pytest.mark.parametrize("num_classes", [2, 5, 6])
def test_ten_folds_of_thousands_with_sentevals_seed_are_those_of_scikit_learn(
    num_classes: int,
) -> None:
    labels = np.random.RandomState(num_classes).randint(num_classes, size=5003)
    labels[:700] = 1  # sorted by length and class, real tasks begin with runs of one class
    np.testing.assert_array_equal(
        stratified_folds(labels, 10, seed=1111), scikit_learn_folds(labels, 10, 1111)
    )


def test_folds_stay_as_they_were_when_published() -> None:
    """By scikit-learn 1.9.1; a change of numpy's shuffling or of scikit-learn would show here."""
    labels = np.array([1, 0, 0, 1, 2, 1, 0, 1, 0, 0, 2, 1, 1])
    expected = [2, 1, 0, 1, 2, 1, 2, 0, 1, 0, 0, 0, 2]
    assert stratified_folds(labels, 3, seed=1111).tolist() == expected


@pytest.mark.parametrize(("labels", "num_folds"), [([0, 0, 1, 1, 2], 3), ([0] * 9, 1), ([], 2)])
def test_folds_that_cannot_be_filled_are_refused(labels: list[int], num_folds: int) -> None:
    with pytest.raises(ValueError, match=f"^{num_folds} folds need at least 2 and a class of as"):
        stratified_folds(np.array(labels, dtype=np.int64), num_folds, seed=0)
