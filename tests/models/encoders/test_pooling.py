"""Pooling of all states of a sentence, against states that are computed node by node."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.support.tree_oracles import (
    Sentence,
    batch_of,
    child_sum_state,
    nary_state,
    random_sentence,
    read,
)
from treeviews.models.config.training_config import DepCell
from treeviews.models.config.views import Pooling
from treeviews.models.encoders.child_sum_tree_lstm import ChildSumTreeLSTM
from treeviews.models.encoders.nary_tree_lstm import NaryTreeLSTM
from treeviews.models.encoders.recurrent_encoders import GRU
from treeviews.models.encoders.sentence_encoder import SentenceStates
from treeviews.models.encoders.word_averages import BagOfWords, LinearAverage

Oracle = Callable[[Any, Sentence, Tensor], Tensor]
"""The state of a tree's root, node by node."""
WORD_SIZE, HIDDEN_SIZE, NUM_WORDS = 5, 6, 9
POOLINGS: tuple[Pooling, ...] = ("last", "max", "mean", "min")


@pytest.fixture
def sentences() -> list[Sentence]:
    random = Random(5)
    return [random_sentence(random, length) for length in (7, 1, 12, 2, 3, 7)]


@pytest.fixture
def words() -> Tensor:
    torch.manual_seed(1)
    return torch.randn(NUM_WORDS, WORD_SIZE, dtype=torch.float64)


def made(kind: type[Any], **changes: Any) -> Any:
    torch.manual_seed(2)
    return kind(word_size=WORD_SIZE, hidden_size=HIDDEN_SIZE, **changes).double()


def pooled(states: Tensor) -> dict[Pooling, Tensor]:
    """Of one sentence's states [nodes, H], the last of them its own."""
    return {
        "last": states[-1],
        "max": states.max(0).values,
        "mean": states.mean(0),
        "min": states.min(0).values,
    }


def check(encoder: Any, sentences: list[Sentence], words: Tensor, expected: list[Tensor]) -> None:
    batch = batch_of(sentences)
    states: SentenceStates = encoder.states(batch, words[batch.word_ids])
    for pooling in POOLINGS:
        found = states.pool(pooling)
        wanted = torch.stack([pooled(s)[pooling] for s in expected])
        torch.testing.assert_close(found, wanted.detach(), rtol=1e-9, atol=1e-12)
        assert not found.requires_grad
    torch.testing.assert_close(states.last, encoder(batch, words[batch.word_ids]).detach())


def subtree(sentence: Sentence, node: int) -> Sentence:
    """The tree under a token as a sentence of its own."""

    def depends(token: int) -> bool:
        while token != node and sentence.heads[token]:
            token = sentence.heads[token] - 1
        return token == node

    tokens = [token for token in range(len(sentence.words)) if depends(token)]
    place = {token: i for i, token in enumerate(tokens)}
    heads = [0 if t == node else place[sentence.heads[t] - 1] + 1 for t in tokens]
    return Sentence([sentence.words[t] for t in tokens], heads, [], [])


@pytest.mark.parametrize("cell", ["child_sum", "attentive"])
def test_dep_pools_the_states_of_all_tokens(
    cell: DepCell, sentences: list[Sentence], words: Tensor
) -> None:
    encoder = made(ChildSumTreeLSTM, dep_cell=cell)
    expected = [tokens_by(child_sum_state, encoder, sentence, words) for sentence in sentences]

    check(encoder, sentences, words, expected)


def tokens_by(oracle: Oracle, encoder: Any, sentence: Sentence, words: Tensor) -> Tensor:
    """The states of a dependency tree's nodes, the root's last."""
    root = sentence.heads.index(0)
    order = [t for t in range(len(sentence.words)) if t != root] + [root]
    trees = [subtree(sentence, token) for token in order]
    return torch.stack([oracle(encoder, tree, words[tree.words]) for tree in trees])


def binary_subtree(sentence: Sentence, node: int) -> Sentence:
    """The binary tree under an inner node (>= 0) or a leaf (< 0) as a sentence of its own."""
    tokens: list[int] = []
    left: list[int] = []
    right: list[int] = []

    def copy(node: int) -> int:
        if node < 0:
            tokens.append(sentence.words[-1 - node])
            return -len(tokens)
        own = len(left)
        left.append(0)
        right.append(0)
        left[own] = copy(sentence.left[node])
        right[own] = copy(sentence.right[node])
        return own

    copy(node)
    return Sentence(tokens, [], left, right)


def test_const_pools_the_states_of_inner_nodes_and_leaves(
    sentences: list[Sentence], words: Tensor
) -> None:
    encoder = made(NaryTreeLSTM)
    expected = [nodes_by(nary_state, encoder, sentence, words) for sentence in sentences]

    check(encoder, sentences, words, expected)


def nodes_by(oracle: Oracle, encoder: Any, sentence: Sentence, words: Tensor) -> Tensor:
    """The states of a binary tree's leaves and inner nodes, the root's last."""
    nodes = [-1 - token for token in range(len(sentence.words))]
    nodes += reversed(range(len(sentence.left)))  # the root, node 0, comes last
    trees = [binary_subtree(sentence, node) for node in nodes]
    return torch.stack([oracle(encoder, tree, words[tree.words]) for tree in trees])


def test_two_directions_pool_the_states_at_each_word_side_by_side(
    sentences: list[Sentence], words: Tensor
) -> None:
    encoder = made(GRU, bidirectional=True)
    batch = batch_of(sentences)
    states = encoder.states(batch, words[batch.word_ids])

    for number, sentence in enumerate(sentences):
        vectors = words[sentence.words]
        ahead = [read(encoder.cell, vectors[: t + 1]) for t in range(len(vectors))]
        back = [read(encoder.reverse_cell, vectors[t:].flip(0)) for t in range(len(vectors))]
        both = torch.cat([torch.stack(ahead), torch.stack(back)], dim=1).detach()
        for pooling in ("max", "mean", "min"):
            expected = pooled(both)[pooling]  # type: ignore[index]
            torch.testing.assert_close(states.pool(pooling)[number], expected)
        last = torch.cat([ahead[-1], back[0]]).detach()
        torch.testing.assert_close(states.pool("last")[number], last)


@pytest.mark.parametrize("kind", [BagOfWords, LinearAverage])
def test_a_bag_pools_its_words_and_its_last_is_its_mean(
    kind: type[BagOfWords | LinearAverage], sentences: list[Sentence], words: Tensor
) -> None:
    encoder = BagOfWords(word_size=WORD_SIZE) if kind is BagOfWords else made(LinearAverage)
    batch = batch_of(sentences)
    states = encoder.states(batch, words[batch.word_ids])

    for number, sentence in enumerate(sentences):
        vectors = words[sentence.words]
        if kind is LinearAverage:
            vectors = (vectors @ encoder.projection.weight.T).detach()
        expected = {**pooled(vectors), "last": vectors.mean(0)}
        for pooling in POOLINGS:
            torch.testing.assert_close(states.pool(pooling)[number], expected[pooling])
