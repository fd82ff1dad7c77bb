"""The LSTM of SEQ against Child-Sum trees that are chains, where both are one cell; in float64."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from tests.support.tree_oracles import Sentence, batch_of
from treeviews.models.config.training_config import Init
from treeviews.models.encoders.child_sum_tree_lstm import ChildSumTreeLSTM
from treeviews.models.encoders.recurrent_encoders import LSTM
from treeviews.models.encoders.sentence_encoder import build_encoder

E, H, V = 5, 4, 9
LENGTHS = (3, 1, 5, 2, 1)


def chain(words: list[int]) -> Sentence:
    """Every word depends on the next."""
    inner = list(range(len(words) - 1))
    left, right = [*inner[1:], -1][: len(inner)], [k - len(words) for k in inner]
    return Sentence(words, [*range(2, len(words) + 1), 0], left, right)


def sentences() -> list[Sentence]:
    return [chain([(7 * n + k) % V for k in range(length)]) for n, length in enumerate(LENGTHS)]


def backwards(chains: list[Sentence]) -> list[Sentence]:
    return [chain(one.words[::-1]) for one in chains]


def vectors() -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(V, E, dtype=torch.float64, generator=generator).requires_grad_()


def lstm(*, bidirectional: bool = False) -> LSTM:
    torch.manual_seed(0)
    encoder = LSTM(
        word_size=E, hidden_size=2 * H if bidirectional else H, bidirectional=bidirectional
    )
    for parameter in encoder.double().parameters():
        nn.init.normal_(parameter)
    return encoder


def as_tree(encoder: LSTM, direction: str = "") -> ChildSumTreeLSTM:
    """Returns the Child-Sum Tree-LSTM with the weights of a direction of an LSTM."""
    tree = ChildSumTreeLSTM(word_size=E, hidden_size=H).double()
    cells = dict(encoder.cells.named_parameters())
    word, state, bias, more = (
        cells[f"{name}_l0{direction}"].chunk(4)
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    i, f, g, o = range(4)  # PyTorch's order; the tree's is i, o, u, f
    with torch.no_grad():
        tree.cell.word.weight.copy_(torch.cat([word[k] for k in (i, o, g, f)]))
        tree.cell.word.bias.copy_(torch.cat([bias[k] + more[k] for k in (i, o, g, f)]))
        tree.cell.child_sum.weight.copy_(torch.cat([state[k] for k in (i, o, g)]))
        tree.cell.child.weight.copy_(state[f])
    return tree


def encode(encoder: nn.Module, chains: list[Sentence], words: Tensor) -> Tensor:
    batch = batch_of(chains)
    found: Tensor = encoder(batch, words[batch.word_ids])
    return found


def test_over_a_chain_it_is_a_child_sum_tree_in_output_and_gradient() -> None:
    encoder, words = lstm(), vectors()
    found, expected = (encode(one, sentences(), words) for one in (encoder, as_tree(encoder)))

    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    gradients = [torch.autograd.grad((one * one).sum(), words)[0] for one in (found, expected)]
    torch.testing.assert_close(*gradients, rtol=1e-12, atol=1e-12)


def test_a_second_direction_is_a_chain_from_the_end() -> None:
    encoder, words = lstm(bidirectional=True), vectors()

    found = encode(encoder, sentences(), words)

    ahead = encode(as_tree(encoder), sentences(), words)
    back = encode(as_tree(encoder, "_reverse"), backwards(sentences()), words)
    torch.testing.assert_close(found, torch.cat([ahead, back], 1), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("pooling", ["max", "mean", "min", "last"])
def test_it_pools_the_states_after_each_word(pooling: str) -> None:
    encoder, words = lstm(), vectors()
    batch = batch_of(sentences())

    found = encoder.states(batch, words[batch.word_ids]).pool(pooling)  # type: ignore[arg-type]

    for number, one in enumerate(sentences()):
        beginnings = [chain(one.words[: k + 1]) for k in range(len(one.words))]
        states = encode(as_tree(encoder), beginnings, words).detach()
        pooled = {
            "max": states.max(0).values,
            "mean": states.mean(0),
            "min": states.min(0).values,
            "last": states[-1],
        }
        torch.testing.assert_close(found[number], pooled[pooling], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("init", "of_forget_gates"), [("xavier", 0.0), ("he", 1.0)])
def test_forget_gates_alone_start_open_where_the_init_says_so(
    init: Init, of_forget_gates: float
) -> None:
    encoder = build_encoder("SEQ", word_size=E, hidden_size=H, seq_cell="lstm", init=init)

    biases = [p for name, p in encoder.named_parameters() if "bias" in name]
    i, f, g, o = sum(biases).chunk(4)  # type: ignore[union-attr, arg-type]
    assert (f == of_forget_gates).all()
    assert not torch.cat([i, g, o]).any()
