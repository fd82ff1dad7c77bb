"""Equation 1 of Tang & de Sa 2018 against loops over single words, in float64."""

from __future__ import annotations

from math import log
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from models.config.training_presets import preset
from models.objectives import generative
from models.objectives.generative import GenerativeObjective, distinct, pair_scores
from models.objectives.objective import ObjectiveResult, SentenceContext
from tests.support.next_word_examples import (
    COUNTS,
    NUM_WORDS,
    PREDICTED,
    MatrixDecoder,
    context_of,
    look_up_in,
    sentence_vectors,
    word_table,
)


def make_objective(**fields: Any) -> GenerativeObjective:
    objective = GenerativeObjective(MatrixDecoder(), NUM_WORDS, preset("B-G", **fields))
    objective.set_word_counts(COUNTS)
    return objective.double()


def evaluate(
    objective: GenerativeObjective,
    sentences: Tensor,
    context: SentenceContext | None = None,
    table: Tensor | None = None,
) -> ObjectiveResult:
    look_up = look_up_in(word_table(sentences.dtype) if table is None else table)
    result: ObjectiveResult = objective([sentences], context or context_of(PREDICTED), look_up)
    return result


def seeded(objective: GenerativeObjective, sentences: Tensor, seed: int = 0) -> ObjectiveResult:
    torch.manual_seed(seed)
    return evaluate(objective, sentences)


def loops(
    sentences: Tensor, weight: Tensor, noise: dict[int, float], negatives: int
) -> tuple[Tensor, dict[tuple[int, int], Tensor]]:
    """Returns the loss and each score x_iᵀ v_w, word by word.

    Args:
        noise: probability of each word that stands for P_e.
    """
    table, scores = word_table(), {}
    losses = []
    for sentence, words in PREDICTED.items():
        x = weight @ sentences[sentence]
        likelihoods = []
        for word in words:
            scores[sentence, word] = x @ table[word]
            likelihood = F.logsigmoid(x @ table[word])
            for _ in range(negatives):
                expectation = [p * F.logsigmoid(-(x @ table[other])) for other, p in noise.items()]
                likelihood = likelihood + torch.stack(expectation).sum()
            likelihoods.append(likelihood)
        losses.append(-torch.stack(likelihoods).mean())
    return torch.stack(losses).mean(), scores


def unigram() -> dict[int, float]:
    powers = {word: float(COUNTS[word]) ** 0.75 for word in range(1, NUM_WORDS)}
    return {word: power / sum(powers.values()) for word, power in powers.items()}


def weight_of(objective: GenerativeObjective) -> Tensor:
    weight: Tensor = objective.decoder.weight
    return weight


@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_loss_and_gradients_equal_the_loops_over_the_same_noise(scale: float) -> None:
    objective = make_objective(negatives=3, shared_negatives=10)
    sentences = (scale * sentence_vectors()).detach().requires_grad_()
    result = seeded(objective, sentences)
    result.loss.backward()

    torch.manual_seed(0)
    drawn = torch.bincount(objective.noise.draw(10), minlength=NUM_WORDS).double() / 10
    literal = sentences.detach().clone().requires_grad_()
    weight = weight_of(objective).detach().clone().requires_grad_()
    loss, _ = loops(literal, weight, dict(enumerate(drawn.tolist())), negatives=3)
    loss.backward()

    assert result.loss.item() == pytest.approx(loss.item(), rel=1e-12)
    torch.testing.assert_close(sentences.grad, literal.grad, rtol=0, atol=1e-11)
    torch.testing.assert_close(weight_of(objective).grad, weight.grad, rtol=0, atol=1e-11)


def test_words_drawn_often_are_scored_once_and_count_as_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    objective = make_objective(shared_negatives=200)
    once, each = sentence_vectors(), sentence_vectors()
    found = seeded(objective, once)
    found.loss.backward()
    scored: list[int] = []

    def as_drawn(draws: Tensor) -> generative.Noise:
        scored.append(len(draws))
        return generative.Noise(draws, torch.arange(len(draws)), torch.ones_like(draws))

    monkeypatch.setattr(generative, "distinct", as_drawn)
    expected = seeded(objective, each)
    expected.loss.backward()

    assert scored == [200]
    assert len(distinct(objective.noise.draw(200)).word_ids) < NUM_WORDS
    assert found.loss.item() == pytest.approx(expected.loss.item(), rel=1e-12)
    assert found.accuracy.item() == expected.accuracy.item()
    torch.testing.assert_close(once.grad, each.grad, rtol=0, atol=1e-12)


def test_shared_negatives_estimate_the_exact_expectation_without_bias() -> None:
    objective = make_objective(shared_negatives=16)
    torch.manual_seed(0)
    losses, gradients = [], []
    for _ in range(1500):
        sentences = sentence_vectors()
        result = evaluate(objective, sentences)
        result.loss.backward()
        assert sentences.grad is not None
        losses.append(result.loss.detach())
        gradients.append(sentences.grad)

    literal = sentence_vectors()
    loss, _ = loops(literal, weight_of(objective).detach(), unigram(), negatives=5)
    loss.backward()

    assert literal.grad is not None
    for drawn, exact in ((losses, loss.detach()), (gradients, literal.grad)):
        values = torch.stack(drawn)
        standard_error = values.std(0) / len(values) ** 0.5
        assert ((values.mean(0) - exact).abs() <= 4 * standard_error).all()


def test_accuracy_is_how_often_known_words_score_above_noise() -> None:
    objective = make_objective(shared_negatives=5000)
    sentences = sentence_vectors()
    torch.manual_seed(0)
    accuracies = [evaluate(objective, sentences).accuracy for _ in range(400)]

    _, scores = loops(sentences, weight_of(objective), unigram(), negatives=1)
    expected = []
    for sentence, words in PREDICTED.items():
        x = weight_of(objective) @ sentences[sentence]
        for word in words:
            if word != 0:
                own = scores[sentence, word]
                against = {other: own - x @ word_table()[other] for other in unigram()}
                wins = {o: 0.5 if o == word else float(d > 0) for o, d in against.items()}
                expected.append(sum(p * wins[other] for other, p in unigram().items()))
    values = torch.stack(accuracies)
    standard_error = float(values.std()) / len(values) ** 0.5
    exact = sum(expected) / len(expected)
    assert float(values.mean()) == pytest.approx(exact, abs=4 * standard_error)


def test_counts_of_predictors_and_chance() -> None:
    result = seeded(make_objective(), sentence_vectors())

    assert result.num_anchors.item() == 3
    assert result.chance.item() == 0.5
    assert result.measures == {}


def test_equal_scores_count_one_half() -> None:
    result = seeded(make_objective(), torch.zeros(5, 4, dtype=torch.float64))

    assert result.accuracy.item() == 0.5
    assert result.loss.item() == pytest.approx(6 * log(2))


def test_unknown_words_add_a_constant_and_no_gradient() -> None:
    objective = make_objective()
    known, unknown = sentence_vectors(), sentence_vectors()
    torch.manual_seed(0)
    noise_only = evaluate(objective, known, context_of({0: [0, 0]}))
    noise_only.loss.backward()
    torch.manual_seed(0)
    mixed = evaluate(objective, unknown, context_of({0: [0, 0, 3]}))
    mixed.loss.backward()

    x = weight_of(objective).detach() @ unknown[0].detach()
    own = -F.logsigmoid(x @ word_table()[3])
    expected = noise_only.loss + (own - log(2)) / 3
    assert mixed.loss.item() == pytest.approx(expected.item(), abs=1e-12)
    assert noise_only.accuracy.item() == noise_only.chance.item() == 0.0
    assert noise_only.num_anchors.item() == 1


@pytest.mark.parametrize("num_sentences", [0, 1, 5])
def test_a_batch_that_predicts_nothing_has_no_loss_and_a_graph(num_sentences: int) -> None:
    objective = make_objective()
    sentences = sentence_vectors(num_sentences)

    result = evaluate(objective, sentences, context_of({}))
    result.loss.backward()

    values = (result.loss, result.accuracy, result.chance, result.num_anchors)
    assert [value.item() for value in values] == [0, 0, 0, 0]
    assert sentences.grad is not None
    assert not sentences.grad.any()
    assert not weight_of(objective).grad.any()  # type: ignore[union-attr]


def test_one_predictor_learns_as_it_would_in_a_larger_batch() -> None:
    sentences = sentence_vectors()
    objective = make_objective()
    losses = {}
    for predictor, words in PREDICTED.items():
        torch.manual_seed(0)
        losses[predictor] = evaluate(
            objective, sentences, context_of({predictor: words})
        ).loss.item()

    together = seeded(objective, sentences).loss

    assert together.item() == pytest.approx(sum(losses.values()) / 3, abs=1e-12)


def test_only_the_first_view_predicts() -> None:
    objective, sentences = make_objective(), sentence_vectors()
    other = sentence_vectors()
    torch.manual_seed(0)
    result = objective([sentences, other], context_of(PREDICTED), look_up_in(word_table()))
    result.loss.backward()

    assert result.loss.item() == seeded(objective, sentences).loss.item()
    assert other.grad is None


def test_scores_of_pairs_have_the_gradient_of_finite_differences() -> None:
    next_words = context_of(PREDICTED).next_words
    assert next_words is not None
    vectors = word_table()[next_words.word_ids]
    decoded = torch.randn(3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))

    assert torch.autograd.gradcheck(
        lambda x: pair_scores(x, vectors, next_words), decoded.requires_grad_()
    )


def test_the_same_seed_gives_the_same_loss_also_after_loading() -> None:
    objective, sentences = make_objective(), sentence_vectors()
    loaded = GenerativeObjective(MatrixDecoder(), NUM_WORDS, preset("B-G")).double()
    loaded.load_state_dict(objective.state_dict())

    assert seeded(objective, sentences).loss == seeded(loaded, sentences).loss
    assert seeded(objective, sentences).loss != seeded(objective, sentences, seed=1).loss


def test_evaluation_does_not_depend_on_the_global_random_state() -> None:
    objective, sentences = make_objective().eval(), sentence_vectors()

    assert seeded(objective, sentences).loss == seeded(objective, sentences, seed=1).loss


def test_single_precision_is_close_to_double_and_large_scores_stay_finite() -> None:
    double, single = make_objective(), make_objective().float()
    sentences = sentence_vectors().detach()
    large = (1e4 * sentences).float().requires_grad_()

    result = seeded(single, large)
    result.loss.backward()

    assert large.grad is not None
    assert torch.isfinite(large.grad).all()
    assert result.loss.item() == pytest.approx(
        seeded(double, 1e4 * sentences).loss.item(), rel=1e-5
    )
    assert seeded(single, sentences.float()).loss.item() == pytest.approx(
        seeded(double, sentences).loss.item(), rel=1e-6
    )


def test_the_decoder_is_constrained_and_its_distance_reported() -> None:
    objective = make_objective()

    measures = objective.constrain()

    assert objective.decoder.num_constrained == 1
    assert {name: value.item() for name, value in measures.items()} == {"orthonormality": 0.25}


def test_word_counts_must_be_set_first() -> None:
    objective = GenerativeObjective(MatrixDecoder(), NUM_WORDS, preset("B-G")).double()

    with pytest.raises(ValueError, match="call set_word_counts"):
        evaluate(objective, sentence_vectors())
