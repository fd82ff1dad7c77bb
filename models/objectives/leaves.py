"""Leaves: a sentence's vector goes down its tree again, and at each leaf must find the word.

Banyan (Opper & Siddharth 2025, section 3) composes a binary tree and then decomposes each node,

    d_left = σ(Θ_l) * d_node + θ_l,    d_right = σ(Θ_r) * d_node + θ_r                       (1)

until each leaf predicts its word by cross-entropy. Without θ the vector of leaf i is its root's,
weighted by the edges of its path, so that nothing goes down level by level: for view x of the
sentence, word vectors v, and the batch's T distinct known words,

    d_i = P x * Π_{e on the path of i} σ(Θ_e)                                                (2)
    L = - mean_w mean_{leaves i of word w} log softmax_w cos(d_i, v_w) / τ                   (3)

Only the direction of d counts. A scalar σ(Θ) would give every leaf that of its root, so each
component has a weight of its own. In dependency trees an edge's Θ is that of its relation and side,
and every word stands on a leaf of its own below its node, by an edge of its relation.

Differs from Banyan: its Θ are two numbers, each repeated over half of the components. Its θ are
left out; with them it would count in which order turns follow one another, here only how often each
is taken. A batch's equal spans are one node there, with the mean of what comes down to it, so a
word predicts itself once; here each leaf predicts, and (3) counts each word once. Its scores are
from a linear layer over the whole vocabulary. Its trees are induced.

Legend: B sentences, M leaves of known words, T distinct ones, P distinct paths, E word dimension,
H_v width of view v.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from models.config.training_config import TrainingConfig
from models.config.views import SUM_OF_VIEW
from models.corpus.relations import RELATIONS
from models.encoders.order import PathSchedule
from models.objectives.base import Leaves, LookUp, Objective, SentenceContext
from models.objectives.beside import LossBeside

NUM_LABELS = {"CONSTSUM": 2, "DEPSUM": 3 * len(RELATIONS)}
"""Labels of a `PathSchedule`."""
LEAVES_AT_ONCE = 2_048
"""Scores of so many leaves stand in memory at a time, [2048, T]; they are computed twice."""


class WithLeaves(LossBeside):
    """Another objective, and beside it equation 3 as the mean over the views."""

    def __init__(
        self, objective: Objective, widths: Sequence[int], word_size: int, config: TrainingConfig
    ) -> None:
        """Makes the objective, with σ(Θ) at ½: every leaf starts with its root's direction.

        Args:
            objective: gives loss, accuracy and all else.
            widths: H_v of each view.
            word_size: E.
            config: has the views, each of a tree, the weight of the loss and its temperature.
        """
        super().__init__(
            objective, widths, word_size, weight=config.leaves_weight, measure="leaves_loss"
        )
        self.temperature = config.leaves_temperature
        self.gates = nn.ParameterList(
            torch.zeros(NUM_LABELS[SUM_OF_VIEW[view]], word_size) for view in config.views
        )
        """Θ of each view, a row a label."""

    def loss(self, mapped: Sequence[Tensor], context: SentenceContext, look_up: LookUp) -> Tensor:
        """Returns the loss; see `LossBeside`."""
        leaves = context.leaves
        assert leaves is not None, "the objective needs the trees' leaves"
        words = F.normalize(look_up(leaves.word_ids).detach(), dim=1)
        shares = leaves.words.bincount(minlength=len(words)).to(words.dtype).reciprocal()
        losses = [
            (self._losses(root, gates, paths, leaves, words) * shares[leaves.words]).sum()
            for root, gates, paths in zip(mapped, self.gates, leaves.paths, strict=True)
        ]
        return torch.stack(losses).mean() / max(len(words), 1)

    def _losses(
        self, root: Tensor, gates: Tensor, paths: PathSchedule, leaves: Leaves, words: Tensor
    ) -> Tensor:
        """Returns the loss of each leaf, [M].

        Args:
            root: [B, E].
            gates: [·, E].
            words: [T, E], of length 1.
        """
        logs = F.embedding_bag(paths.labels, F.logsigmoid(gates), paths.path_starts, mode="sum")
        # A direction is the same at any scale; at this one no depth makes all weights vanish.
        weights = (logs - logs.detach().amax(1, keepdim=True)).exp()
        of_leaf = (leaves.sentences, paths.path_of_token[leaves.tokens], leaves.words)

        def missed(sentences: Tensor, places: Tensor, own: Tensor) -> Tensor:
            down = F.normalize(root[sentences] * weights[places], dim=1)
            return F.cross_entropy(down @ words.T / self.temperature, own, reduction="none")

        parts = zip(*(rows.split(LEAVES_AT_ONCE) for rows in of_leaf), strict=True)
        found = [
            checkpoint(missed, *p, use_reentrant=False, preserve_rng_state=False) for p in parts
        ]
        return torch.cat(found)
