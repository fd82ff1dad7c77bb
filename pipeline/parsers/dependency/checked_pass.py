"""Dependency trees in reduced precision, as far as they are certain to be those of float32.

A tree is certain where no tree that differs comes within the margin of it: all heads that are not
its own are given the margin on top, and it must still be the best. The relation of every arc must
lead the next one by the margin. See `pipeline.parsers.adapters.checked` for what the margin is.
Legend: B sentences, T positions (the artificial root + tokens), M arcs, R relations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from pipeline.parsers.adapters.base import Sentence
from pipeline.parsers.adapters.batches import length_batches
from pipeline.parsers.adapters.checked import Margin, sample_of
from pipeline.parsers.adapters.fast_layers import WordCache
from pipeline.parsers.dependency.decoding import (
    best_heads,
    labelled_trees,
    single_root_maximum_spanning_tree,
)
from pipeline.parsers.dependency.forward import arc_scores, encode, relation_scores
from pipeline.parsers.dependency.model import Network
from pipeline.parsers.dependency.vocabulary import DependencyVocabulary, token_batch
from pipeline.trees.parses import DependencyParse


class CheckedPass:
    """Parses batches with a network whose encoder is reduced; knows what it is certain of."""

    def __init__(
        self,
        exact: Network,
        reduced: Network,
        vocabulary: DependencyVocabulary,
        spellings: WordCache,
    ) -> None:
        """Takes two networks that differ in the arithmetic of their encoders alone."""
        self._exact, self._reduced = exact, reduced
        self._vocabulary, self._spellings = vocabulary, spellings
        self.margin = Margin()

    def learn(self, sentences: Sequence[Sentence], *, batch_tokens: int) -> int:
        """Parses some of these sentences both ways, and so learns the margin.

        Returns:
            The length of the longest, in tokens: the margin is not known of longer ones.
        """
        self.margin.begin_call()
        longest = 0
        for group in sample_of(sentences):
            lengths = [len(sentence) for sentence in group]
            for members in length_batches(lengths, max_tokens=batch_tokens):
                self._compare([group[member] for member in members])
            longest = max([longest, *lengths])
        return longest

    def _compare(self, sentences: Sequence[Sentence]) -> None:
        batch = token_batch(sentences, self._vocabulary)
        spellings = self._spellings.vectors(batch.distinct_words)
        exact, reduced = (
            encode(network, batch, spellings).contiguous()
            for network in (self._exact, self._reduced)
        )
        tokens = batch.token_mask
        exact_arcs = arc_scores(self._exact, exact, batch.lengths)
        arcs = arc_scores(self._reduced, reduced, batch.lengths)
        self.margin.learn(*_gaps(arcs[tokens], exact_arcs[tokens]))
        heads = best_heads(exact_arcs, batch.lengths)
        self.margin.learn(
            *_gaps(
                relation_scores(self._reduced, reduced, heads, tokens),
                relation_scores(self._exact, exact, heads, tokens),
            )
        )

    def __call__(self, sentences: Sequence[Sentence]) -> list[DependencyParse | None]:
        """Returns the tree of each sentence, or None where it is not certain.

        Raises:
            FloatingPointError: a score is not a number.
        """
        batch = token_batch(sentences, self._vocabulary)
        states_BTD = encode(
            self._reduced, batch, self._spellings.vectors(batch.distinct_words)
        ).contiguous()
        scores = arc_scores(self._reduced, states_BTD, batch.lengths)
        heads_BT = best_heads(scores, batch.lengths)
        certain = certain_trees(scores, heads_BT, batch.lengths, self.margin.width).nonzero()[:, 0]
        answers: list[DependencyParse | None] = [None] * len(sentences)
        if len(certain):
            heads_BT, lengths_B = heads_BT[certain], batch.lengths[certain]
            relations = relation_scores(
                self._reduced, states_BTD[certain], heads_BT, batch.token_mask[certain]
            )
            trees = labelled_trees(heads_BT, lengths_B, relations, self._vocabulary.relations)
            leads = _leads(relations).split((lengths_B - 1).tolist())
            for place, tree, lead in zip(certain.tolist(), trees, leads, strict=True):
                if bool((lead > self.margin.width).all()):
                    answers[place] = tree
        return answers


def certain_trees(scores_BTT: Tensor, heads_BT: Tensor, lengths_B: Tensor, margin: float) -> Tensor:
    """Returns bool ``[B]``: of which sentences no other tree comes within the margin of the best.

    Args:
        scores_BTT: of each ``[sentence, dependent, head]``, on the CPU.
        heads_BT: of each sentence's best tree, see `best_heads`.
        lengths_B: int64; tokens + 1.
        margin: what the score of an arc may gain on that of the tree's arc; of an infinite one
            nothing is certain.
    """
    if not math.isfinite(margin):
        return torch.zeros(len(heads_BT), dtype=torch.bool)
    positions = torch.arange(heads_BT.shape[1])
    beside = (positions == 0) | (positions >= lengths_B[:, None])
    best = scores_BTT.topk(2, -1)
    leads = best.values[..., 0] - best.values[..., 1] > margin
    is_greedy = ((best.indices[..., 0] == heads_BT) | beside).all(1)
    certain = is_greedy & (leads | beside).all(1)
    # Where the best heads of all tokens are no tree, the best tree has others: it is sought again.
    for row in (~is_greedy).nonzero()[:, 0].tolist():
        length = int(lengths_B[row])
        heads = heads_BT[row, :length].numpy()
        raised = scores_BTT[row, :length, :length].double().numpy() + margin
        raised[np.arange(length), heads] -= margin
        certain[row] = single_root_maximum_spanning_tree(raised) == heads.tolist()
    return certain


def _gaps(scores: Tensor, exact_scores: Tensor) -> tuple[Tensor, Tensor]:
    """Returns ``[M]`` twice: of the best score over the next, and of the same two if exact."""
    best = scores.topk(2, -1)
    exact = exact_scores.gather(-1, best.indices)
    return best.values[:, 0] - best.values[:, 1], exact[:, 0] - exact[:, 1]


def _leads(scores_MR: Tensor) -> Tensor:
    best = scores_MR.topk(2, -1).values
    return best[:, 0] - best[:, 1]
