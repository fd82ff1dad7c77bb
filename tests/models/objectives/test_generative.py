"""Equation 1 of Tang & de Sa 2018 against loops over single words, in float64."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.support.next_word_examples import (
    COUNTS,
    NUM_WORDS,
    PREDICTED,
    context_of,
    generative_objective,
    look_up_in,
    sentence_vectors,
    word_table,
)
from treeviews.models.corpus.sentence_block import SentenceBlock
from treeviews.models.objectives import generative
from treeviews.models.objectives.generative import (
    GenerativeObjective,
    NoiseDistribution,
    distinct,
    pair_scores,
)
from treeviews.models.objectives.objective import ObjectiveResult, SentenceContext, next_words_of


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
    objective = generative_objective(negatives=3, shared_negatives=10)
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
    objective = generative_objective(shared_negatives=200)
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
    objective = generative_objective(shared_negatives=16)
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
    objective = generative_objective(shared_negatives=5000)
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


def test_equal_scores_count_one_half() -> None:
    result = seeded(generative_objective(), torch.zeros(5, 4, dtype=torch.float64))

    assert result.accuracy.item() == 0.5
    assert result.loss.item() == pytest.approx(6 * log(2))


def test_unknown_words_add_a_constant_and_no_gradient() -> None:
    objective = generative_objective()
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
    objective = generative_objective()
    sentences = sentence_vectors(num_sentences)

    result = evaluate(objective, sentences, context_of({}))
    result.loss.backward()

    values = (result.loss, result.accuracy, result.chance, result.num_anchors)
    assert [value.item() for value in values] == [0, 0, 0, 0]
    assert sentences.grad is not None
    assert not sentences.grad.any()
    assert not weight_of(objective).grad.any()  # type: ignore[union-attr]


def test_scores_of_pairs_have_the_gradient_of_finite_differences() -> None:
    next_words = context_of(PREDICTED).next_words
    assert next_words is not None
    vectors = word_table()[next_words.word_ids]
    decoded = torch.randn(3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))

    assert torch.autograd.gradcheck(
        lambda x: pair_scores(x, vectors, next_words), decoded.requires_grad_()
    )


NOISE_COUNTS = [50.0, 400.0, 0.0, 100.0, 25.0, 3.0, 0.0]


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
    drawn = draw(noise_of(NOISE_COUNTS, power), num_draws)

    observed = torch.bincount(drawn, minlength=len(NOISE_COUNTS)).double()

    occurs = torch.tensor([False, True, False, True, True, True, False])
    weights = torch.tensor(NOISE_COUNTS, dtype=torch.float64)[occurs] ** power
    expected = weights / weights.sum() * num_draws
    chi_squared = ((observed[occurs] - expected) ** 2 / expected).sum()
    assert not observed[~occurs].any()
    assert chi_squared < 16.3  # exceeded once in a thousand with three degrees of freedom


def test_a_large_vocabulary_is_drawn_to_its_last_word() -> None:
    noise = noise_of([0.0] * 300_000 + [1.0])

    assert draw(noise, 5).tolist() == [300_000] * 5


def test_draws_in_evaluation_neither_follow_nor_move_the_global_state() -> None:
    noise = noise_of(NOISE_COUNTS).eval()

    first = draw(noise, 50, seed=1)
    state = torch.get_rng_state()
    second = draw(noise, 50, seed=2)

    assert torch.equal(first, second)
    torch.manual_seed(1)
    assert torch.equal(state, torch.get_rng_state())


def test_counts_of_unknown_words_alone_are_refused() -> None:
    with pytest.raises(ValueError, match="word counts have no known word"):
        NoiseDistribution(3, power=0.75).set_word_counts(torch.tensor([7.0, 0.0, 0.0]))


# Two documents, the first with a gap after its second sentence; words are numbered at will.
SOME_SENTENCES = [[5, 0, 5], [7], [2, 5], [9, 9], [4, 2, 0]]
SOME_DOCUMENTS = [3, 3, 3, 8, 8]
SOME_INDEX = [0, 1, 3, 0, 1]


def make_block(sentences: list[list[int]], documents: list[int], index: list[int]) -> SentenceBlock:
    offsets = np.cumsum([0, *map(len, sentences)]).astype(np.int64)
    return SentenceBlock(
        token_ids=np.array([word for words in sentences for word in words], dtype=np.int32),
        offsets=offsets,
        documents=np.array(documents, dtype=np.int32),
        sentence_index=np.array(index, dtype=np.int32),
        rows=np.arange(len(sentences)),
    )


def test_a_sentence_predicts_the_one_after_it_in_its_document() -> None:
    next_words = next_words_of(make_block(SOME_SENTENCES, SOME_DOCUMENTS, SOME_INDEX))

    ids = next_words.word_ids[next_words.words].tolist()
    ranges = next_words.offsets.tolist()
    predicted = {
        place: ids[ranges[number] : ranges[number + 1]]
        for number, place in enumerate(next_words.predictors.tolist())
    }
    # 1 stands before a gap, 2 ends its document, 4 ends the block.
    assert predicted == {0: [7], 3: [4, 2, 0]}


@pytest.mark.parametrize("count", [1, 2])
def test_without_successors_nothing_is_predicted(count: int) -> None:
    block = make_block(SOME_SENTENCES[:count], list(range(count)), [0] * count)

    next_words = next_words_of(block)

    assert len(next_words.predictors) == len(next_words.words) == len(next_words.word_ids) == 0
    assert next_words.offsets.tolist() == [0]


def test_each_word_is_looked_up_once() -> None:
    next_words = next_words_of(make_block([[1], [4, 4, 2], [4]], [0, 0, 0], [4, 5, 6]))

    assert next_words.word_ids.tolist() == [2, 4]
    assert next_words.words.tolist() == [1, 1, 0, 1]
