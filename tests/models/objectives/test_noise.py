"""The distribution that words of noise are drawn from."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from treeviews.models.objectives.generative import NoiseDistribution

COUNTS = [50.0, 400.0, 0.0, 100.0, 25.0, 3.0, 0.0]


def noise_of(counts: Sequence[float], power: float = 0.75) -> NoiseDistribution:
    noise = NoiseDistribution(len(counts), power)
    noise.set_word_counts(torch.tensor(counts))
    return noise


def draw(noise: NoiseDistribution, count: int, seed: int = 0) -> Tensor:
    torch.manual_seed(seed)
    return noise.draw(count)


@pytest.mark.parametrize("power", [0.75, 1.0, 0.0])
def test_words_are_drawn_by_their_counts_to_the_power(power: float) -> None:
    num_draws = 200_000
    drawn = draw(noise_of(COUNTS, power), num_draws)

    observed = torch.bincount(drawn, minlength=len(COUNTS)).double()

    occurs = torch.tensor([False, True, False, True, True, True, False])
    weights = torch.tensor(COUNTS, dtype=torch.float64)[occurs] ** power
    expected = weights / weights.sum() * num_draws
    chi_squared = ((observed[occurs] - expected) ** 2 / expected).sum()
    assert not observed[~occurs].any()
    assert chi_squared < 16.3  # exceeded once in a thousand with three degrees of freedom


def test_a_large_vocabulary_is_drawn_to_its_last_word() -> None:
    noise = noise_of([0.0] * 300_000 + [1.0])

    assert draw(noise, 5).tolist() == [300_000] * 5


def test_draws_in_training_follow_the_global_seed() -> None:
    noise = noise_of(COUNTS)

    first, second = draw(noise, 50, seed=1), noise.draw(50)

    assert torch.equal(first, draw(noise, 50, seed=1))
    assert not torch.equal(first, second)


def test_draws_in_evaluation_neither_follow_nor_move_the_global_state() -> None:
    noise = noise_of(COUNTS).eval()

    first = draw(noise, 50, seed=1)
    state = torch.get_rng_state()
    second = draw(noise, 50, seed=2)

    assert torch.equal(first, second)
    torch.manual_seed(1)
    assert torch.equal(state, torch.get_rng_state())


def test_the_distribution_is_part_of_the_state_and_survives_a_cast() -> None:
    noise = noise_of(COUNTS)
    loaded = NoiseDistribution(len(COUNTS), power=0.75)

    loaded.load_state_dict(noise.half().state_dict())

    assert torch.equal(draw(loaded, 100), draw(noise_of(COUNTS), 100))


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([1.0, 2.0], r"word counts must be of the vocabulary's 3 words, got \[2\]"),
        ([1.0, -2.0, 3.0], "word counts must be finite and not negative"),
        ([1.0, float("nan"), 3.0], "word counts must be finite and not negative"),
        ([7.0, 0.0, 0.0], "word counts have no known word"),
    ],
)
def test_counts_that_give_no_distribution_are_refused(counts: list[float], message: str) -> None:
    noise = NoiseDistribution(3, power=0.75)

    with pytest.raises(ValueError, match=message):
        noise.set_word_counts(torch.tensor(counts))
