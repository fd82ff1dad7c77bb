"""Both objectives together are the sum of each by itself."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tests.support.next_word_examples import (
    COUNTS,
    NUM_WORDS,
    PREDICTED,
    SENTENCE_SIZE,
    WORD_SIZE,
    context_of,
    look_up_in,
    sentence_vectors,
    word_table,
)
from treeviews.models.config.training_presets import preset
from treeviews.models.objectives.generative import JointObjective
from treeviews.models.objectives.objective import ObjectiveResult, Sizes


def make_objective(generative_weight: float = 1.0) -> JointObjective:
    config = preset("B-GD", context_size=1, generative_weight=generative_weight)
    sizes = Sizes((SENTENCE_SIZE, SENTENCE_SIZE), WORD_SIZE, NUM_WORDS)
    objective = JointObjective(config, sizes)
    objective.set_word_counts(COUNTS)
    return objective.double()


def make_views() -> list[Tensor]:
    first = sentence_vectors()
    return [first, first.detach().flip(1).contiguous().requires_grad_()]


def evaluate(
    objective: torch.nn.Module, views: list[Tensor], predicted: dict[int, list[int]] = PREDICTED
) -> ObjectiveResult:
    torch.manual_seed(0)
    result: ObjectiveResult = objective(views, context_of(predicted), look_up_in(word_table()))
    return result


def test_loss_and_gradients_are_the_weighted_sum() -> None:
    objective, views = make_objective(generative_weight=0.3), make_views()
    joint = evaluate(objective, views)
    joint.loss.backward()

    words, pairs = make_views(), make_views()
    generative = evaluate(objective.generative, words)
    discriminative = evaluate(objective.discriminative, pairs)
    generative.loss.backward()
    discriminative.loss.backward()

    expected = discriminative.loss.item() + 0.3 * generative.loss.item()
    assert joint.loss.item() == pytest.approx(expected, abs=1e-12)
    assert words[0].grad is not None
    assert pairs[0].grad is not None
    torch.testing.assert_close(views[0].grad, pairs[0].grad + 0.3 * words[0].grad)
    torch.testing.assert_close(views[1].grad, pairs[1].grad)


def test_a_batch_that_predicts_nothing_still_learns_from_pairs() -> None:
    objective, views = make_objective(), make_views()

    joint = evaluate(objective, views, predicted={})

    assert joint.measures["generative_loss"].item() == 0.0
    assert joint.loss == joint.measures["discriminative_loss"]


def test_the_decoder_is_constrained() -> None:
    assert set(make_objective().constrain()) == {"orthonormality"}
