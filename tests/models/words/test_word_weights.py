"""How much words count: their probabilities, SIF, and the lookup that applies it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from models.config.training_config import TrainingConfig
from models.words.embedding import WordEmbedding, word_embedding
from models.words.word_vectors import WordVectors, sif_weights, word_probabilities

WORDS = ("the", "owl", "sang")
ROWS = np.array([[3.0, 4.0], [0.0, 2.0], [1.0, 0.0]], dtype=np.float32)
COUNTS = np.array([90, 9, 1])
IDS = torch.tensor([0, 1, 2, 3])


def make_vectors(*, counted: bool = True) -> WordVectors:
    return WordVectors.from_rows(WORDS, ROWS, counts=COUNTS if counted else None)


def bag(**changes: object) -> TrainingConfig:
    fixed = {"views": ("BOW",), "objective": "discriminative", "vector_rms": None}
    return TrainingConfig.from_dict({**fixed, **changes})


def test_probabilities_are_those_of_the_counts() -> None:
    np.testing.assert_allclose(word_probabilities(make_vectors()), [0, 0.9, 0.09, 0.01])


def test_without_counts_probabilities_follow_zipfs_law() -> None:
    found = word_probabilities(make_vectors(counted=False))
    assert found[0] == 0 and found.sum() == pytest.approx(1)
    np.testing.assert_allclose(found[1] / found[2:], [4.7 / 3.7, 5.7 / 3.7])


def test_counts_that_are_all_zero_are_refused() -> None:
    with pytest.raises(ValueError, match="counts of the word vectors are all zero"):
        word_probabilities(WordVectors.from_rows(WORDS, ROWS, counts=np.zeros(3, dtype=np.int64)))


def test_a_word_weighs_a_half_where_its_probability_is_a() -> None:
    weights = sif_weights(make_vectors(), 0.09)
    np.testing.assert_allclose(weights, [1, 0.09 / 0.99, 0.5, 0.9], rtol=1e-6)


def test_weights_multiply_the_vectors_of_their_words() -> None:
    found = word_embedding(bag(word_weights="sif", sif_a=0.09), make_vectors())(IDS)
    expected = [[0, 0], [3 / 11, 4 / 11], [0, 1], [0.9, 0]]
    torch.testing.assert_close(found, torch.tensor(expected))


@pytest.mark.parametrize("words", ["frozen", "trained"])
def test_words_of_length_one_are_weighted_then(words: str) -> None:
    config = {"word_vectors": words, "trained_word_init": "given", "unit_words": True}
    found = word_embedding(bag(**config, word_weights="sif", sif_a=0.09), make_vectors())(IDS)
    torch.testing.assert_close(found.norm(dim=1), torch.tensor([0, 1 / 11, 0.5, 0.9]))
    torch.testing.assert_close(found[1], torch.tensor([0.6, 0.8]) / 11)


def test_words_of_length_one_are_scaled_to_a_root_mean_square() -> None:
    found = word_embedding(bag(unit_words=True, vector_rms=0.5), make_vectors())(IDS[1:])
    assert found.square().mean().sqrt().item() == pytest.approx(0.5)


def test_given_vectors_are_where_trained_ones_start() -> None:
    lookup = word_embedding(bag(word_vectors="trained", trained_word_init="given"), make_vectors())
    assert torch.equal(lookup(IDS)[1:], torch.from_numpy(ROWS))
    assert isinstance(lookup.vectors, torch.nn.Parameter)


def test_what_is_given_is_not_saved() -> None:
    fixed = word_embedding(bag(word_weights="sif"), make_vectors())
    assert set(fixed.state_dict()) == {"scale"}


@pytest.mark.parametrize(
    ("weights", "said"), [([1.0, 1.0], "4 words need as many"), ([1.0, 0, 1, 1], "above 0")]
)
def test_other_weights_are_refused(weights: list[float], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        WordEmbedding(torch.zeros(4, 2), trained=False, weights=torch.tensor(weights))
