"""From contextual states to trees: the best arcs first, then their relations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from pipeline.parsers.dependency.forward import arc_scores, relation_scores
from pipeline.parsers.dependency.maximum_spanning_tree import (
    are_single_rooted_trees,
    single_root_maximum_spanning_tree,
)
from pipeline.parsers.dependency.network import BiaffineNetwork
from pipeline.trees.parses import DependencyParse


def trees_of_states(
    network: BiaffineNetwork, states_BTD: Tensor, lengths_B: Tensor, relations: Sequence[str]
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
    """Returns ``[B, T]``: the heads of each sentence's best tree, 0 beyond its length or of a root.

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
