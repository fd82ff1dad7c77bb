"""Own words: tell the words of a sentence from all others of the batch, by its vector alone.

For sentence i with the distinct known words W_i, view x_i and word vectors v over the batch's T
distinct known words,

    L = - mean_i mean_{w in W_i} log softmax_w cos(P x_i, v_w) / τ

A view that forgets words on the way to its root is asked to keep them. It stands beside another
objective and not alone: a bag of words solves it. Here words are predicted from the root, each word
type once; `models.objectives.leaves` predicts them from the leaves.

Legend: B sentences, T distinct known words of the batch, M pairs of a sentence and a word of it,
E word dimension, H_v width of view v.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from models.config.training_config import TrainingConfig
from models.objectives.base import LookUp, Objective, SentenceContext
from models.objectives.beside import LossBeside


class WithOwnWords(LossBeside):
    """Another objective, and beside it the loss above as the mean over the views."""

    def __init__(
        self, objective: Objective, widths: Sequence[int], word_size: int, config: TrainingConfig
    ) -> None:
        """Makes the objective; P is the identity where a view is as wide as the words.

        Args:
            objective: gives loss, accuracy and all else.
            widths: H_v of each view.
            word_size: E.
            config: has the weight of the loss and its temperature.
        """
        super().__init__(
            objective, widths, word_size, weight=config.own_words_weight, measure="own_words_loss"
        )
        self.temperature = config.own_words_temperature

    def loss(self, mapped: Sequence[Tensor], context: SentenceContext, look_up: LookUp) -> Tensor:
        """Returns the loss; see `LossBeside`."""
        own = context.own_words
        assert own is not None, "the objective needs the sentences' own words"
        words = F.normalize(look_up(own.word_ids).detach(), dim=1)
        counts = own.sentences.bincount(minlength=len(context.documents)).clamp(min=1)
        shares = counts.to(words.dtype).reciprocal()[own.sentences]
        losses = []
        for view in mapped:
            scores = F.normalize(view, dim=1) @ words.T / self.temperature
            found = scores.log_softmax(1)[own.sentences, own.words]
            losses.append(-(found * shares).sum() / max(len(view), 1))
        return torch.stack(losses).mean()
