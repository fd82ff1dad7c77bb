"""Dependency trees of scores: the best arcs first, then their relations.

The best arcs are the highest-scoring non-projective tree with one root, by Chu-Liu/Edmonds
(McDonald et al. 2005, "Non-projective dependency parsing using spanning tree algorithms", section
3). Legend: B sentences, T positions of the longest one, N = tokens + 1 of one; position 0 is the
artificial root; M tokens of all, R relations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from treeviews.pipeline.parsers.dependency_forward import arc_scores, relation_scores
from treeviews.pipeline.parsers.dependency_model import Network
from treeviews.pipeline.trees.flat_trees import DependencyParse

Scores = NDArray[np.floating[Any]]
Heads = NDArray[np.int64]


def trees_of_states(
    network: Network, states_BTD: Tensor, lengths_B: Tensor, relations: Sequence[str]
) -> list[DependencyParse]:
    """Returns the trees that follow from contextual states, wherever these come from.

    Greedy heads are kept where they form a single-rooted tree, which is then the best one; only
    the other sentences need the spanning-tree search.

    Args:
        states_BTD: of the artificial root at position 0, then of each token.
        lengths_B: int64; tokens + 1.
        relations: names of the network's relations.

    Raises:
        FloatingPointError: a score is not a number, of which any tree could be made.
    """
    states_BTD = states_BTD.contiguous()  # once, not in each of the four projections
    heads_BT = best_heads(arc_scores(network, states_BTD, lengths_B), lengths_B)
    positions = torch.arange(states_BTD.shape[1], device=states_BTD.device)
    chosen_BT = (positions > 0) & (positions < lengths_B[:, None])
    scores = relation_scores(network, states_BTD, heads_BT, chosen_BT)
    return labelled_trees(heads_BT, lengths_B, scores, relations)


def labelled_trees(
    heads_BT: Tensor, lengths_B: Tensor, scores_MR: Tensor, relations: Sequence[str]
) -> list[DependencyParse]:
    """Returns each sentence's tree with the best relation of each token.

    Args:
        scores_MR: of the relations of all tokens, sentence after sentence.

    Raises:
        FloatingPointError: a score is not a number.
    """
    best = scores_MR.max(-1)
    _check_numbers(best.values)
    labels = iter(best.indices.tolist())
    return [
        DependencyParse(
            heads=heads[1:length], deprels=[relations[next(labels)] for _ in range(length - 1)]
        )
        for heads, length in zip(heads_BT.tolist(), lengths_B.tolist(), strict=True)
    ]


def best_heads(scores_BTT: Tensor, lengths_B: Tensor) -> Tensor:
    """Returns ``[B, T]``: the heads of each sentence's best tree, 0 of a root.

    Beyond a sentence's length they mean nothing.

    Args:
        scores_BTT: of each ``[sentence, dependent, head]``.
        lengths_B: int64; tokens + 1.

    Raises:
        FloatingPointError: a score is not a number, of which any tree could be made.
    """
    best = scores_BTT.max(-1)
    positions = torch.arange(scores_BTT.shape[1], device=scores_BTT.device)
    _check_numbers(best.values[positions < lengths_B[:, None]])
    heads_BT, lengths = best.indices.cpu().numpy(), lengths_B.cpu().numpy()
    heads_BT[:, 0] = 0
    for row in np.flatnonzero(~are_single_rooted_trees(heads_BT, lengths)):
        length = lengths[row]
        scores = scores_BTT[row, :length, :length].cpu().numpy()
        heads_BT[row, :length] = single_root_maximum_spanning_tree(scores)
    return torch.from_numpy(heads_BT).to(scores_BTT.device)


def _check_numbers(best_scores: Tensor) -> None:
    """Checks the best of some scores, which is no number where any of them is none.

    Raises:
        FloatingPointError: it is none, and of it any tree could be made.
    """
    if not bool(torch.isfinite(best_scores).all()):
        raise FloatingPointError("scores are not finite; the parser's weights may be damaged")


def are_single_rooted_trees(heads_BN: Heads, lengths_B: Heads) -> NDArray[np.bool_]:
    """Says of each sentence whether its heads are a tree with exactly one root.

    Args:
        heads_BN: below N; column 0 and those from a sentence's length on are ignored.
        lengths_B: tokens + 1.
    """
    num_positions = heads_BN.shape[1]
    positions = np.arange(num_positions)
    tokens = (positions > 0) & (positions < lengths_B[:, None])
    ancestors = np.where(tokens, heads_BN, 0)
    single = ((ancestors == 0) & tokens).sum(1) == 1
    # Each round doubles the steps towards the root; who walks in a circle never gets there.
    for _ in range((num_positions - 1).bit_length()):
        ancestors = np.take_along_axis(ancestors, ancestors, 1)
    trees: NDArray[np.bool_] = single & ~ancestors.any(1)
    return trees


def single_root_maximum_spanning_tree(scores_NN: Scores) -> list[int]:
    """Returns the heads (length N, entry 0 is 0) of the best tree whose root has one child.

    Where the best tree of all has more roots, a second search finds it: each arc from the
    artificial root is made to cost more than all the other arcs of a tree can differ by, so that
    the best tree has as few of them as a tree can have, one; among those, all pay the same.

    Args:
        scores_NN: ``[dependent, head]``, finite; row 0 and the diagonal are ignored.
    """
    scores = np.array(scores_NN, dtype=np.float64)
    arcs = ~np.eye(len(scores), dtype=bool)
    arcs[0, :] = False
    scores[~arcs] = -np.inf
    heads = _Contraction(scores).heads()
    if heads[1:].count(0) > 1:
        scores[1:, 0] -= len(scores) * np.ptp(scores[arcs]) + 1.0
        heads = _Contraction(scores).heads()
    return heads


class _Contraction:
    """Chu-Liu/Edmonds over a dense graph in O(N^2) additions: one path that grows and contracts.

    Gabow et al. 1986, "Efficient algorithms for finding minimum spanning trees in undirected and
    directed graphs", section 4, with rows of a matrix instead of heaps. A component is a position
    (number below N) or a contracted cycle of components (N and above, in order of contraction).
    """

    def __init__(self, scores_NN: NDArray[np.float64]) -> None:
        """Takes ``[dependent, head]``; arcs that do not exist are minus infinity."""
        size = len(scores_NN)
        self._size = size
        # What a component gains by an arc from each position, less the arc that it gives up.
        self._gains = np.full((2 * size, size), -np.inf)
        self._gains[:size] = scores_NN
        self._head_of = [0] * (2 * size)
        """Position from which the best arc enters a component."""
        self._entered: list[NDArray[np.int64]] = []
        """Of each contracted cycle: the member that an arc from each position enters."""
        self._component_of = np.arange(size)
        """Outermost component of each position."""

    def heads(self) -> list[int]:
        """Returns the head of each position in the best tree."""
        attached = {0}
        for start in range(1, self._size):
            component = int(self._component_of[start])
            if component not in attached:
                attached.update(self._grow(component, attached))
        for offset in range(len(self._entered) - 1, -1, -1):
            head = self._head_of[self._size + offset]
            self._head_of[self._entered[offset][head]] = head
        return self._head_of[: self._size]

    def _grow(self, component: int, attached: set[int]) -> list[int]:
        """Follows best arcs from a component to the tree; returns the components on the way."""
        path = [component]
        while True:
            head = int(self._gains[path[-1]].argmax())
            self._head_of[path[-1]] = head
            source = int(self._component_of[head])
            if source in attached:
                return path
            if source in path:
                start = path.index(source)
                path[start:] = [self._contract(path[start:])]
            else:
                path.append(source)

    def _contract(self, cycle: list[int]) -> int:
        members = np.array(cycle)
        kept = self._gains[members, [self._head_of[member] for member in cycle]]
        gains = self._gains[members] - kept[:, None]
        best = gains.argmax(0)
        component = self._size + len(self._entered)
        inside = np.isin(self._component_of, members)
        self._component_of[inside] = component
        self._gains[component] = gains[best, np.arange(self._size)]
        self._gains[component, inside] = -np.inf
        self._entered.append(members[best])
        return component
