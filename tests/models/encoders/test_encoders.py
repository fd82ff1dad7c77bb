"""Encoders against recursions over single nodes, in float64: outputs and every gradient."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from tests.support.tree_oracles import (
    Sentence,
    batch_of,
    child_sum_state,
    gru_state,
    linear_average,
    nary_state,
    random_sentence,
)
from treeviews.models.config.training_config import Init
from treeviews.models.config.views import VIEWS
from treeviews.models.encoders.sentence_encoder import SentenceBatch, build_encoder
from treeviews.models.encoders.word_averages import BagOfWords

E, H, V = 5, 4, 9
TOLERANCE = 1e-12

ORACLES: dict[str, Callable[..., Tensor]] = {
    "SEQ": gru_state,
    "SEQ in both directions": gru_state,
    "DEP": child_sum_state,
    "DEP by attention": child_sum_state,
    "CONST": nary_state,
    "LIN": linear_average,
}
OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "SEQ in both directions": ("SEQ", {"bidirectional": True}),
    "DEP by attention": ("DEP", {"dep_cell": "attentive"}),
}
ENCODERS = (*VIEWS, *OPTIONS)
WITH_MATRICES = tuple(view for view in VIEWS if view != "BOW")
WITH_BUFFERS = tuple(view for view in ORACLES if view != "LIN")


def make_encoder(name: str) -> nn.Module:
    torch.manual_seed(0)
    view, options = OPTIONS.get(name, (name, {}))
    encoder = build_encoder(view, word_size=E, hidden_size=H, **options).double()
    for parameter in encoder.parameters():
        nn.init.normal_(parameter)  # biases too, so that a lost one shows
    return encoder


def make_vectors() -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(V, E, dtype=torch.float64, generator=generator).requires_grad_()


def encode(encoder: nn.Module, sentences: list[Sentence], vectors: Tensor) -> Tensor:
    batch = batch_of(sentences)
    return encoder(batch, vectors[batch.word_ids])


def recurse(view: str, encoder: nn.Module, sentences: list[Sentence], vectors: Tensor) -> Tensor:
    return torch.stack([ORACLES[view](encoder, s, vectors[s.words]) for s in sentences])


def gradients(output: Tensor, encoder: nn.Module, vectors: Tensor) -> list[Tensor]:
    weights = torch.randn(output.shape, dtype=torch.float64, generator=torch.manual_seed(2))
    inputs = [vectors, *encoder.parameters()]
    found = torch.autograd.grad((output * weights).sum(), inputs, allow_unused=True)
    return [torch.zeros_like(i) if g is None else g for i, g in zip(inputs, found, strict=True)]


def assert_same_as_oracle(view: str, sentences: list[Sentence]) -> None:
    encoder, vectors = make_encoder(view), make_vectors()
    output = encode(encoder, sentences, vectors)
    expected = recurse(view, encoder, sentences, vectors)
    torch.testing.assert_close(output, expected, rtol=TOLERANCE, atol=TOLERANCE)
    for found, wanted in zip(
        gradients(output, encoder, vectors), gradients(expected, encoder, vectors), strict=True
    ):
        # A gradient is a sum over the batch: its rounding error grows with its largest entry.
        scale = max(1.0, float(wanted.abs().max()))
        torch.testing.assert_close(found, wanted, rtol=0, atol=TOLERANCE * scale)


def chain(length: int) -> Sentence:
    """Every word depends on the next; every constituent but the first word branches left."""
    inner = list(range(length - 1))
    return Sentence(
        words=[k % V for k in range(length)],
        heads=[*range(2, length + 1), 0],
        left=[*inner[1:], -1],
        right=[-length + k for k in inner],
    )


def star(length: int) -> Sentence:
    """Every word depends on the first; every constituent branches right."""
    inner = list(range(length - 1))
    return Sentence(
        words=[k % V for k in range(length)],
        heads=[0] + [1] * (length - 1),
        left=[-1 - k for k in inner],
        right=[*inner[1:], -length],
    )


ONE_WORD = Sentence(words=[3], heads=[0], left=[], right=[])


@pytest.mark.parametrize("view", ORACLES)
@pytest.mark.parametrize(
    "sentences",
    [
        pytest.param([ONE_WORD], id="one word"),
        pytest.param([ONE_WORD, ONE_WORD], id="only one-word sentences"),
        pytest.param([ONE_WORD, star(4), ONE_WORD, chain(3)], id="one word among others"),
        pytest.param([chain(2)], id="two words"),
        pytest.param([chain(200)], id="chain of 200"),
        pytest.param([star(200)], id="star of 200"),
        pytest.param([random_sentence(Random(k), 1 + 3 * k) for k in range(12)], id="mixed"),
    ],
)
def test_outputs_and_gradients_equal_the_recursion(view: str, sentences: list[Sentence]) -> None:
    assert_same_as_oracle(view, sentences)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), lengths=st.lists(st.integers(1, 12), min_size=1, max_size=5))
def test_random_trees_equal_the_recursion(seed: int, lengths: list[int]) -> None:
    random = Random(seed)
    sentences = [random_sentence(random, length) for length in lengths]
    for view in ORACLES:
        assert_same_as_oracle(view, sentences)


@pytest.mark.parametrize("view", ENCODERS)
def test_words_that_are_not_shared_have_states_of_their_own(view: str) -> None:
    encoder, vectors = make_encoder(view), make_vectors()
    sentences = [random_sentence(Random(k), 8, num_words=2) for k in range(4)]
    shared = batch_of(sentences)
    own = batch_of(sentences, share_words=False)
    per_token = vectors[own.word_ids].detach()
    noise = torch.rand(per_token.shape, dtype=torch.float64, generator=torch.manual_seed(3))

    as_shared = encoder(own, per_token)
    with_noise = encoder(own, per_token * noise)
    one_by_one = []
    for sentence, rows in zip(sentences, (per_token * noise).split(8), strict=True):
        one_by_one.append(encoder(batch_of([sentence], share_words=False), rows))

    expected = encoder(shared, vectors[shared.word_ids])
    torch.testing.assert_close(as_shared, expected, rtol=TOLERANCE, atol=TOLERANCE)
    torch.testing.assert_close(with_noise, torch.cat(one_by_one), rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("view", ENCODERS)
def test_two_passes_before_their_gradients_do_not_disturb_each_other(view: str) -> None:
    encoder, vectors = make_encoder(view), make_vectors()
    first = [random_sentence(Random(k), 9) for k in range(3)]
    second = [random_sentence(Random(k), 7) for k in range(5, 9)]

    together = encode(encoder, first, vectors).sum() + encode(encoder, second, vectors).sum()
    found = gradients(together, encoder, vectors)

    weight = torch.randn((), dtype=torch.float64, generator=torch.manual_seed(2))
    for sentences in (first, second):
        alone = torch.autograd.grad(
            encode(encoder, sentences, vectors).sum() * weight,
            [vectors, *encoder.parameters()],
            allow_unused=True,
        )
        found = [a if b is None else a - b for a, b in zip(found, alone, strict=True)]
    for rest in found:
        torch.testing.assert_close(rest, torch.zeros_like(rest), rtol=0, atol=1e-10)


@pytest.mark.parametrize("view", WITH_BUFFERS)
def test_a_second_backward_pass_is_refused(view: str) -> None:
    encoder, vectors = make_encoder(view), make_vectors()
    loss = encode(encoder, [random_sentence(Random(1), 6)], vectors).sum()
    loss.backward(retain_graph=True)

    with pytest.raises(RuntimeError, match="were used by a backward pass"):
        loss.backward()


@pytest.mark.parametrize("view", ENCODERS)
def test_bfloat16_outputs_and_gradients_stay_close_to_float32(view: str) -> None:
    encoder, vectors = make_encoder(view).float(), make_vectors().detach().float()
    batch = batch_of([random_sentence(Random(k), 9) for k in range(60)])
    inputs = [vectors.requires_grad_(), *encoder.parameters()]

    expected = encoder(batch, vectors[batch.word_ids])
    found = encoder(batch, vectors[batch.word_ids].bfloat16())

    assert found.dtype == torch.bfloat16
    pairs = [(found.float(), expected)]
    for gradient, wanted in zip(
        torch.autograd.grad(found.float().sum(), inputs),
        torch.autograd.grad(expected.sum(), inputs),
        strict=True,
    ):
        assert gradient.dtype == torch.float32
        pairs.append((gradient, wanted))
    for one, other in pairs:
        assert (one - other).norm() <= 0.05 * other.norm()


@pytest.mark.parametrize("view", ENCODERS)
def test_bfloat16_adds_up_the_gradient_of_a_frequent_word(view: str) -> None:
    trees = [random_sentence(Random(k), 12) for k in range(400)]
    batch = batch_of([replace(tree, words=[1, 2] * 6) for tree in trees])  # 2,400 times each
    encoder = make_encoder(view).float()
    vectors = make_vectors().detach().float()[batch.word_ids].requires_grad_()

    def gradient(inputs: Tensor) -> Tensor:
        outputs = encoder(batch, inputs).float()
        weights = torch.linspace(0.5, 1.5, outputs.numel()).view_as(outputs)
        return torch.autograd.grad((outputs * weights).sum(), vectors)[0]

    found, expected = gradient(vectors.bfloat16()), gradient(vectors)
    assert (found - expected).norm() <= 0.05 * expected.norm()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("unknown", ["leaf", "head"])
def test_attention_to_an_unknown_word_has_finite_gradients(
    dtype: torch.dtype, unknown: str
) -> None:
    """Its vector is zero, and so is its state while biases are: no direction to compare."""
    torch.manual_seed(0)
    encoder = build_encoder("DEP", word_size=E, hidden_size=H, dep_cell="attentive")
    words = [0, 1, 2] if unknown == "leaf" else [1, 0, 2]
    batch = batch_of([Sentence(words, heads=[2, 0, 2], left=[1, -1], right=[-3, -2])])
    vectors = torch.tensor([[0.0] * E, [0.5] * E, [-0.3] * E])[batch.word_ids]
    vectors = vectors.to(dtype).requires_grad_()

    encoder(batch, vectors).float().sum().backward()

    found = [vectors.grad, *(parameter.grad for parameter in encoder.parameters())]
    assert max(float(g.abs().max()) for g in found if g is not None) < 10


@pytest.mark.parametrize("view", ENCODERS)
def test_encoding_in_inference_mode_does_not_hinder_training(view: str) -> None:
    encoder, vectors = make_encoder(view), make_vectors()
    sentences = [random_sentence(Random(k), 9) for k in range(3)]

    with torch.inference_mode():
        inferred = encode(encoder, sentences, vectors)
    trained = encode(encoder, sentences, vectors)
    trained.sum().backward()

    torch.testing.assert_close(trained.detach(), inferred.clone(), rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("view", WITH_BUFFERS)
def test_buffers_used_before_leave_no_trace(view: str) -> None:
    encoder, vectors = make_encoder(view), make_vectors()
    small = [random_sentence(Random(k), 5) for k in range(3)]
    fresh = gradients(encode(encoder, small, vectors), encoder, vectors)
    large = [random_sentence(Random(k), 40) for k in range(9)]
    encode(encoder, large, vectors * 1e6).sum().backward()  # leaves its values in the buffers

    again = gradients(encode(encoder, small, vectors), encoder, vectors)

    for one, other in zip(again, fresh, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_bag_of_words_is_the_mean_over_all_tokens() -> None:
    batch = SentenceBatch.from_arrays([4, 4, 7, 0], [0, 3, 4])
    vectors = torch.tensor([[0.0, 0.0], [3.0, 6.0], [9.0, 0.0]])  # of words 0, 4, 7

    mean = BagOfWords(word_size=2)(batch, vectors)

    assert mean.tolist() == [[5.0, 4.0], [0.0, 0.0]]


def matrices_of(view: str, name: str, parameter: Tensor, *, hidden_size: int) -> list[Tensor]:
    """Returns the papers' matrices that a parameter consists of; none of a bias.

    One a gate, and for CONST's states one a gate and child (Tai et al. 2015, equations 9 to 12).
    """
    if parameter.dim() == 1:
        return []
    gates = parameter.split(hidden_size)
    if view == "CONST" and name == "cell.child_pair.weight":
        assert parameter.shape == (5 * hidden_size, 2 * hidden_size)
        return [matrix for gate in gates for matrix in gate.split(hidden_size, 1)]
    return list(gates)


@pytest.mark.parametrize("view", WITH_MATRICES)
@pytest.mark.parametrize(
    ("init", "word_size"), [("xavier", 60), ("orthonormal", 20), ("orthonormal", 60)]
)
def test_an_init_is_by_matrix_with_zero_biases(view: str, init: Init, word_size: int) -> None:
    torch.manual_seed(0)
    encoder = build_encoder(view, word_size=word_size, hidden_size=40, init=init)

    for name, parameter in encoder.named_parameters():
        if parameter.dim() == 1:
            assert not parameter.any(), name
        for matrix in matrices_of(view, name, parameter, hidden_size=40):
            if init == "xavier":
                bound = (6 / sum(matrix.shape)) ** 0.5
                assert 0.95 * bound < matrix.abs().max() <= bound, name
                assert matrix.std().item() == pytest.approx(bound / 3**0.5, rel=0.1), name
                continue
            smaller = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
            torch.testing.assert_close(smaller, torch.eye(len(smaller)), rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("init", "of_gate"), [("he", 1.0), ("xavier", 0.0), ("xavier_open", 0.0), ("orthonormal", 0.0)]
)
def test_reset_and_update_gates_start_open_under_he_alone(init: Init, of_gate: float) -> None:
    parameters = build_encoder(
        "SEQ", word_size=60, hidden_size=40, init=init, bidirectional=True
    ).state_dict()

    for direction in ("cell", "reverse_cell"):
        assert parameters[f"{direction}.word.bias"].tolist() == [of_gate] * 40 + [0.0] * 20
        assert not parameters[f"{direction}.state.bias"].any()
