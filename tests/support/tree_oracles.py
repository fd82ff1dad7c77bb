"""Slow and obviously right: random trees, and Tree-LSTMs that recurse node by node."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import torch
from torch import Tensor

from treeviews.models.encoders.child_sum_tree_lstm import ChildSumTreeLSTM
from treeviews.models.encoders.nary_tree_lstm import NaryTreeLSTM
from treeviews.models.encoders.recurrent_encoders import GRU, GRUCell
from treeviews.models.encoders.sentence_encoder import SentenceBatch
from treeviews.models.encoders.word_averages import LinearAverage


@dataclass(frozen=True)
class Sentence:
    """One sentence with both trees, in the form of a shard's row."""

    words: list[int]
    heads: list[int]
    left: list[int]
    right: list[int]


def batch_of(sentences: list[Sentence], *, share_words: bool = True) -> SentenceBatch:
    offsets = [0]
    for sentence in sentences:
        offsets.append(offsets[-1] + len(sentence.words))
    return SentenceBatch.from_arrays(
        [word for s in sentences for word in s.words],
        offsets,
        [head for s in sentences for head in s.heads],
        [child for s in sentences for child in s.left],
        [child for s in sentences for child in s.right],
        share_words=share_words,
    )


def random_sentence(random: Random, length: int, *, num_words: int = 9) -> Sentence:
    left, right = random_binary_tree(random, length)
    return Sentence(
        words=[random.randrange(num_words) for _ in range(length)],
        heads=random_heads(random, length),
        left=left,
        right=right,
    )


def random_heads(random: Random, length: int) -> list[int]:
    """Attaches tokens in random order to any token already attached."""
    order = random.sample(range(length), length)
    heads = [0] * length
    for place, token in enumerate(order[1:], start=1):
        heads[token] = 1 + order[random.randrange(place)]
    return heads


def random_binary_tree(random: Random, length: int) -> tuple[list[int], list[int]]:
    """Splits spans at random places."""
    left: list[int] = []
    right: list[int] = []

    def grow(start: int, end: int) -> int:
        if end - start == 1:
            return -1 - start
        node = len(left)
        left.append(0)
        right.append(0)
        split = random.randrange(start + 1, end)
        left[node] = grow(start, split)
        right[node] = grow(split, end)
        return node

    grow(0, length)
    return left, right


def child_sum_state(encoder: ChildSumTreeLSTM, sentence: Sentence, words: Tensor) -> Tensor:
    """Returns the root's h by Tai et al.'s equations 2 to 8; ``words`` is [n, E]."""
    cell = encoder.cell
    W_i, W_o, W_u, W_f = cell.word.weight.chunk(4)
    b_i, b_o, b_u, b_f = cell.word.bias.chunk(4)
    U_i, U_o, U_u = cell.child_sum.weight.chunk(3)
    U_f = cell.child.weight

    def state(node: int) -> tuple[Tensor, Tensor]:
        x = words[node]
        children = [state(k) for k, head in enumerate(sentence.heads) if head == node + 1]
        h_sum = sum((h for h, _ in children), torch.zeros_like(b_i))
        if cell.query is not None and children:
            states = torch.stack([h for h, _ in children])
            query = cell.query.weight @ x
            attention = torch.softmax(torch.cosine_similarity(states, query[None], dim=1), dim=0)
            h_sum = attention @ states
        i = torch.sigmoid(W_i @ x + U_i @ h_sum + b_i)
        o = torch.sigmoid(W_o @ x + U_o @ h_sum + b_o)
        u = torch.tanh(W_u @ x + U_u @ h_sum + b_u)
        c = i * u
        for h_k, c_k in children:
            c = c + torch.sigmoid(W_f @ x + U_f @ h_k + b_f) * c_k
        return o * torch.tanh(c), c

    return state(sentence.heads.index(0))[0]


def nary_state(encoder: NaryTreeLSTM, sentence: Sentence, words: Tensor) -> Tensor:
    """Returns the root's h by Tai et al.'s equations 9 to 14; ``words`` is [n, E]."""
    cell = encoder.cell
    H = cell.hidden_size
    W_i, W_o, W_u = cell.word.weight.chunk(3)
    b_i, b_o, b_u = cell.word.bias.chunk(3)
    b_f = cell.forget_bias
    U_1, U_2 = cell.child_pair.weight.split(H, dim=1)
    U_i1, U_o1, U_u1, U_f11, U_f21 = U_1.chunk(5)
    U_i2, U_o2, U_u2, U_f12, U_f22 = U_2.chunk(5)

    def state(node: int) -> tuple[Tensor, Tensor]:
        if node < 0:
            x = words[-1 - node]
            c = torch.sigmoid(W_i @ x + b_i) * torch.tanh(W_u @ x + b_u)
            return torch.sigmoid(W_o @ x + b_o) * torch.tanh(c), c
        (h_1, c_1), (h_2, c_2) = state(sentence.left[node]), state(sentence.right[node])
        i = torch.sigmoid(U_i1 @ h_1 + U_i2 @ h_2 + b_i)
        f_1 = torch.sigmoid(U_f11 @ h_1 + U_f12 @ h_2 + b_f)
        f_2 = torch.sigmoid(U_f21 @ h_1 + U_f22 @ h_2 + b_f)
        o = torch.sigmoid(U_o1 @ h_1 + U_o2 @ h_2 + b_o)
        u = torch.tanh(U_u1 @ h_1 + U_u2 @ h_2 + b_u)
        c = i * u + f_1 * c_1 + f_2 * c_2
        return o * torch.tanh(c), c

    return state(0 if sentence.left else -1)[0]


def linear_average(encoder: LinearAverage, sentence: Sentence, words: Tensor) -> Tensor:
    """Returns the mean of W v over the words, as Tang & de Sa write it; ``words`` is [n, E]."""
    mapped = [encoder.projection.weight @ vector for vector in words]
    return sum(mapped, torch.zeros_like(mapped[0])) / len(sentence.words)


def gru_state(encoder: GRU, sentence: Sentence, words: Tensor) -> Tensor:
    """Returns the last state of PyTorch's own GRU cell; ``words`` is [n, E]."""
    last = read(encoder.cell, words)
    if encoder.reverse_cell is None:
        return last
    return torch.cat([last, read(encoder.reverse_cell, words.flip(0))])


def read(cell: GRUCell, words: Tensor) -> Tensor:
    parameters = {
        "weight_ih": cell.word.weight,
        "bias_ih": cell.word.bias,
        "weight_hh": cell.state.weight,
        "bias_hh": cell.state.bias,
    }
    reference = torch.nn.GRUCell(words.shape[1], cell.hidden_size, dtype=words.dtype)
    hidden = words.new_zeros(cell.hidden_size)
    for word in words:
        hidden = torch.func.functional_call(reference, parameters, (word, hidden))
    return hidden
