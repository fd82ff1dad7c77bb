"""From a network and sentences to trees: the best arcs first, then their relations."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from pipeline.parsers.dependency.forward import arc_scores, encode, relation_scores
from pipeline.parsers.dependency.maximum_spanning_tree import (
    is_single_rooted_tree,
    single_root_maximum_spanning_tree,
)
from pipeline.parsers.dependency.network import BiaffineNetwork
from pipeline.parsers.dependency.token_batch import TokenBatch
from pipeline.trees.parses import DependencyParse


def decode(
    network: BiaffineNetwork,
    batch: TokenBatch,
    spellings_YD: Tensor,
    relations: Sequence[str],
) -> list[DependencyParse]:
    """Returns the tree of each sentence of a batch.

    Greedy heads are kept where they form a single-rooted tree, which is then the best one; only
    the other sentences need the spanning-tree search.

    Args:
        spellings_YD: features of ``batch.distinct_words``.
        relations: names of the network's relations.
    """
    states = encode(network, batch, spellings_YD)
    heads_BT = _best_heads(arc_scores(network, states, batch.lengths), batch.lengths)
    chosen_BT = batch.token_mask
    labels = relation_scores(network, states, heads_BT, chosen_BT).argmax(-1).tolist()
    parses, start = [], 0
    for heads, length in zip(heads_BT.tolist(), batch.lengths.tolist(), strict=True):
        end = start + length - 1
        deprels = [relations[label] for label in labels[start:end]]
        parses.append(DependencyParse(heads=heads[1:length], deprels=deprels))
        start = end
    return parses


def _best_heads(scores_BTT: Tensor, lengths_B: Tensor) -> Tensor:
    heads_BT = scores_BTT.argmax(-1).cpu()
    heads_BT[:, 0] = 0
    greedy = heads_BT.tolist()
    for row, length in enumerate(lengths_B.tolist()):
        if not is_single_rooted_tree(greedy[row][:length]):
            scores = scores_BTT[row, :length, :length].cpu().numpy()
            heads_BT[row, :length] = torch.tensor(single_root_maximum_spanning_tree(scores))
    return heads_BT.to(scores_BTT.device)
