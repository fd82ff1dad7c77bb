"""What every objective is given and returns.

Legend: B sentences of the batch, P of them predict the one after them, M words to predict,
T distinct words among them, E word dimension, H_v width of view v.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module

import numpy as np
import torch
from torch import Tensor, nn

from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.corpus.sentence_block import SentenceBlock
from treeviews.models.encoders.index_arrays import distinct_words, to_tensor

LookUp = Callable[[Tensor], Tensor]
"""From vocabulary ids [T] to their word vectors [T, E], as the encoders see them; the unknown
word, id 0, is zero."""


@dataclass(frozen=True, slots=True, eq=False)
class NextWords:
    """The words of each sentence that follows another one of the batch, predictor by predictor."""

    word_ids: Tensor
    """[T] int64; vocabulary ids of the distinct words. Id 0 is the unknown word."""
    words: Tensor
    """[M] int64; row of ``word_ids`` of each word to predict."""
    offsets: Tensor
    """[P+1] int64; predictor p predicts the words offsets[p]..offsets[p+1], one or more."""
    predictors: Tensor
    """[P] int64, ascending; the sentence of the batch that predicts."""


def next_words_of(block: SentenceBlock) -> NextWords:
    """Returns the words that the block's sentences predict.

    A sentence predicts if the one after it in its document is the next one of the block; the last
    of a document or of the block does not, nor one before a gap.
    """
    follows = (block.documents[1:] == block.documents[:-1]) & (
        block.sentence_index[1:] == block.sentence_index[:-1] + 1
    )
    predictors = np.flatnonzero(follows)
    predicted = block.take(predictors + 1)
    word_ids, words = distinct_words(predicted.token_ids.astype(np.int64))
    return NextWords(
        word_ids=to_tensor(word_ids),
        words=to_tensor(words),
        offsets=to_tensor(predicted.offsets),
        predictors=to_tensor(predictors),
    )


@dataclass(frozen=True, slots=True, eq=False)
class SentenceContext:
    """Where a batch's sentences stand in their documents, and what follows them there."""

    documents: Tensor
    """[B] int64; equal for sentences of one document."""
    sentence_index: Tensor
    """[B] int64; position in the document. A gap in it is a gap in the text."""
    next_words: NextWords | None = None
    """Made only for objectives that predict words."""

    @classmethod
    def of(cls, block: SentenceBlock, config: TrainingConfig) -> SentenceContext:
        """Returns the context of a block's sentences, with the words that are predicted."""
        return cls(
            documents=torch.tensor(block.documents, dtype=torch.int64),
            sentence_index=torch.tensor(block.sentence_index, dtype=torch.int64),
            next_words=next_words_of(block) if config.has_decoder else None,
        )


@dataclass(frozen=True, slots=True, eq=False)
class ObjectiveResult:
    """What a batch gives; all scalars on its device."""

    loss: Tensor
    """Differentiable; a mean over what the objective asks: anchors, pairs or words' sentences."""
    accuracy: Tensor
    """Share of right answers, 0 to 1, as the objective counts them."""
    chance: Tensor
    """The same share for guesses."""
    num_anchors: Tensor
    """int64; sentences that had anything to learn from, by which results of several batches are
    weighted. Without any, the others are 0."""
    measures: Mapping[str, Tensor] = field(default_factory=dict)
    """Further detached scalars for the log, equal in name for every batch of a training."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """What an objective is made for."""

    widths: tuple[int, ...]
    """H_v of each view."""
    word_size: int
    """E."""
    num_words: int
    """V, the unknown word included."""


class Objective(nn.Module):
    """A module with whatever is trained beside the encoders: critic, temperature, decoder.

    It is made of a `TrainingConfig` and the `Sizes`, its weights drawn from torch's random state.
    One that predicts words has a ``decoder``, see `models.objectives.decoders.Decoder`.
    """

    def set_word_counts(self, counts: Tensor) -> None:
        """Tells an objective that draws words how often each stands in the training text, [V]."""

    def forward(
        self, views: Sequence[Tensor], context: SentenceContext, look_up: LookUp
    ) -> ObjectiveResult:
        """Returns the objective of a batch.

        Random draws, if any, come from torch's global state in training, which every step seeds,
        and from a generator of fixed seed in evaluation.

        Args:
            views: [B, H_v] each.
            context: of the same sentences.
            look_up: gives frozen word vectors.
        """
        raise NotImplementedError

    def constrain(self) -> dict[str, Tensor]:
        """Puts parameters back to where they must lie after a step of the optimiser, in place.

        Returns:
            Detached scalars for the log, equal in name for every step.
        """
        return {}


def build_objective(config: TrainingConfig, sizes: Sizes) -> Objective:
    """Returns a new objective, as `models.config.objectives` declares it.

    Raises:
        ValueError: views of widths that the objective cannot compare.
    """
    module, _, name = config.kind.module.partition(":")
    objective: Objective = getattr(import_module(module, package=__package__), name)(config, sizes)
    return objective
