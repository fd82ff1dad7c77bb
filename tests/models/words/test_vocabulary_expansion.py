"""A trained vocabulary expanded by a linear map: the fit, what it is worth, which words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from treeviews.models.words import vocabulary_expansion as expansion
from treeviews.models.words.vocabulary_expansion import ExpansionConfig, TrainedWords, fit_expansion
from treeviews.models.words.word_vectors import WordVectors

RANDOM = np.random.default_rng(5)
SIZE, WIDTH = 6, 4


def named(count: int) -> list[str]:
    return [f"w{number}" for number in range(count)]


def pretrained(words: list[str], size: int = SIZE) -> WordVectors:
    return WordVectors.from_rows(words, RANDOM.normal(size=(len(words), size)).astype(np.float32))


def trained(words: list[str], table: np.ndarray, **changes: Any) -> TrainedWords:
    is_trained = np.ones(len(words), dtype=np.bool_)
    return TrainedWords(words, table.astype(np.float32), **{"is_trained": is_trained, **changes})


def drawn(count: int, **changes: Any) -> TrainedWords:
    """Trained vectors that have nothing to do with any others."""
    return trained(named(count), RANDOM.normal(size=(count, WIDTH)), **changes)


def vectors_of(found: expansion.Expansion) -> dict[str, np.ndarray]:
    return dict(zip(found.words.to_pylist(), np.concatenate(list(found.blocks())), strict=True))


@pytest.mark.parametrize("block_rows", [7, 8_192])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_map_is_that_of_least_squares(
    block_rows: int, intercept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expansion, "BLOCK_ROWS", block_rows)
    given, own = pretrained(named(60)), drawn(40)

    found = fit_expansion(own, given, ExpansionConfig(intercept=intercept))

    ones = np.ones((60, 1)) if intercept else np.zeros((60, 0))
    known = np.hstack([given.matrix[1:].astype(np.float64), ones])
    solution = np.linalg.lstsq(known[:40], own.table.astype(np.float64), rcond=None)[0]
    expected = known[40:] @ solution
    further = np.array([vectors_of(found)[word] for word in named(60)[40:]])
    np.testing.assert_allclose(further, expected, rtol=1e-5, atol=1e-6)


def test_ridge_is_the_solution_of_its_normal_equations() -> None:
    given, own = pretrained(named(30)), drawn(20)

    map_ = fit_expansion(own, given, ExpansionConfig(ridge=3.0)).map_

    x, y = given.matrix[1:21].astype(np.float64), own.table.astype(np.float64)
    centred, around = x - x.mean(axis=0), y - y.mean(axis=0)
    weights = np.linalg.solve(centred.T @ centred + 3.0 * np.eye(SIZE), centred.T @ around)
    np.testing.assert_allclose(map_.weights, weights, rtol=1e-9)
    np.testing.assert_allclose(map_.intercept, y.mean(axis=0) - x.mean(axis=0) @ weights, rtol=1e-9)


def test_a_map_that_is_linear_is_found_exactly_and_trained_words_stay() -> None:
    given = pretrained(named(200))
    weights, shift = RANDOM.normal(size=(SIZE, WIDTH)), RANDOM.normal(size=WIDTH)
    images = given.matrix[1:] @ weights + shift
    own = trained(named(50), images[:50])

    found = fit_expansion(own, given, ExpansionConfig())

    table = np.concatenate(list(found.blocks()))
    np.testing.assert_array_equal(table[:50], own.table)
    np.testing.assert_allclose(table[50:], images[50:], atol=1e-5)
    assert found.facts["held_out"]["map"] == [{"r2": 1.0, "cosine": 1.0}]
    assert found.facts["words"] == {
        "trained": 50,
        "never_met_in_training": 0,
        "shared": 50,
        "mapped": 150,
        "left_out": 0,
        "all": 200,
    }


def test_a_word_that_training_never_met_is_mapped_and_does_not_teach_the_map() -> None:
    given = pretrained(named(40))
    images = given.matrix[1:] @ RANDOM.normal(size=(SIZE, WIDTH))
    table = images.copy()
    table[[3, 7]] = 100.0
    met = np.ones(30, dtype=np.bool_)
    met[[3, 7]] = False

    found = fit_expansion(trained(named(30), table[:30], is_trained=met), given, ExpansionConfig())

    np.testing.assert_allclose(np.concatenate(list(found.blocks())), images, atol=1e-5)
    words = found.facts["words"]
    assert (words["trained"], words["never_met_in_training"], words["mapped"]) == (28, 2, 12)


@pytest.mark.parametrize(
    ("own_word", "given_words", "further"),
    [
        ("us", ["US", "Paris", "us", "PARIS", "paris", "Rome"], {"paris": "paris", "rome": "Rome"}),
        ("Paris", ["paris", "Paris", "PARIS"], {"paris": "paris", "PARIS": "PARIS"}),
    ],
)
def test_words_without_capitals_take_pretrained_ones_in_small_letters(
    own_word: str, given_words: list[str], further: dict[str, str]
) -> None:
    given, words = pretrained([*named(30), *given_words]), [*named(30), own_word]
    own = trained(words, RANDOM.normal(size=(len(words), WIDTH)))

    found = fit_expansion(own, given, ExpansionConfig())

    assert found.words.to_pylist() == [*words, *further]
    assert found.facts["words"]["shared"] == 31
    for word, spelled in further.items():
        source = given.matrix[given.words.index(spelled)]
        np.testing.assert_array_equal(vectors_of(found)[word], found.map_(source[None])[0])


@pytest.mark.parametrize(
    ("own", "given", "changes", "message"),
    [
        (20, named(20), {}, "nothing to add to the model's 20 words: .* have 0 others"),
        (20, named(30), {"max_words": 20}, r"have 10 others and max_words is 20; give vectors"),
        (7, named(30), {}, "7 trained words .* 1 of which .* needs 7 others: .* or a ridge above"),
        (20, ["other", "words"], {}, "0 trained words have a pretrained vector.*capitals count"),
        (20, ["w0", "other"], {"ridge": 1.0}, "1 trained words .* needs 2 others"),
    ],
)
def test_what_cannot_be_expanded_is_refused(
    own: int, given: list[str], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        fit_expansion(drawn(own), pretrained(given), ExpansionConfig(**changes))
