"""Highest-scoring non-projective dependency tree with one root: Chu-Liu/Edmonds.

McDonald et al. 2005, "Non-projective dependency parsing using spanning tree algorithms", section 3.
Legend: N = tokens + 1; position 0 is the artificial root.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

FORBIDDEN = -1e30
"""Score of an arc that no tree may hold, far below any sum of real scores."""

Scores = NDArray[np.floating[Any]]
Heads = NDArray[np.int64]


def is_single_rooted_tree(heads: Sequence[int]) -> bool:
    """Says whether ``heads`` (length N, entry 0 ignored) is a tree with exactly one root."""
    return list(heads[1:]).count(0) == 1 and find_cycle(heads) is None


def find_cycle(heads: Sequence[int]) -> list[int] | None:
    """Returns the positions of one cycle of ``heads`` (length N, entry 0 ignored), or None."""
    reaches_root = [False] * len(heads)
    reaches_root[0] = True
    for start in range(1, len(heads)):
        path: dict[int, None] = {}  # ordered, with fast membership
        position = start
        while not reaches_root[position]:
            if position in path:
                visited = list(path)
                return visited[visited.index(position) :]
            path[position] = None
            position = heads[position]
        for visited_position in path:
            reaches_root[visited_position] = True
    return None


def single_root_maximum_spanning_tree(scores_NN: Scores) -> list[int]:
    """Returns the heads (length N, entry 0 is 0) of the best tree whose root has one child.

    One search finds it: each arc from the artificial root is made to cost more than all the other
    arcs of a tree can differ by, so that the best tree has as few of them as a tree can have, one;
    and among the trees with one, all pay the same.

    Args:
        scores_NN: ``[dependent, head]``, finite; row 0 and the diagonal are ignored.
    """
    scores = np.array(scores_NN, dtype=np.float64)
    arcs = ~np.eye(len(scores), dtype=bool)
    arcs[0, :] = False
    if arcs.any():
        scores[:, 0] -= len(scores) * np.ptp(scores[arcs]) + 1.0
    scores[~arcs] = FORBIDDEN
    return [int(head) for head in _chu_liu_edmonds(scores)]


def _chu_liu_edmonds(scores_NN: NDArray[np.float64]) -> Heads:
    """Returns the best tree's heads: greedy heads, or one cycle contracted and solved again."""
    heads: Heads = scores_NN.argmax(1)
    heads[0] = 0
    cycle = find_cycle(heads.tolist())
    if cycle is None:
        return heads
    inside = np.array(cycle)
    outside = np.setdiff1d(np.arange(len(heads)), inside)
    contracted, leaving, entering = _contract(scores_NN, heads, inside, outside)
    solution = _chu_liu_edmonds(contracted)
    cycle_node = len(outside)
    for position in range(1, cycle_node):
        head = solution[position]
        heads[outside[position]] = (
            inside[leaving[position]] if head == cycle_node else outside[head]
        )
    broken_by = solution[cycle_node]
    heads[inside[entering[broken_by]]] = outside[broken_by]
    return heads


def _contract(
    scores_NN: NDArray[np.float64], heads: Heads, inside: Heads, outside: Heads
) -> tuple[NDArray[np.float64], Heads, Heads]:
    """Returns the graph with the cycle as its last node, and the cycle's end of each new arc.

    The second array gives, for each outside node, the cycle node that would head it; the third
    the cycle node whose cycle arc is given up when that outside node heads the cycle.
    """
    size = len(outside)
    cycle_scores = scores_NN[inside, heads[inside]]
    from_cycle = scores_NN[np.ix_(outside, inside)]
    # The cycle keeps all its arcs but the one into the node where the new head enters.
    into_cycle = scores_NN[np.ix_(inside, outside)] + (cycle_scores.sum() - cycle_scores)[:, None]
    leaving, entering = from_cycle.argmax(1), into_cycle.argmax(0)
    contracted = np.full((size + 1, size + 1), FORBIDDEN)
    contracted[:size, :size] = scores_NN[np.ix_(outside, outside)]
    contracted[:size, size] = from_cycle[np.arange(size), leaving]
    contracted[size, :size] = into_cycle[entering, np.arange(size)]
    return contracted, leaving, entering
