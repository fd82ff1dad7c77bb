"""How often a model answers right what its objective asks, on held-out sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import torch

from models.corpus.parsed_corpus import ParsedCorpus
from models.corpus.sentence_block import SentenceBlock
from models.model.sentence_model import SentenceModel
from models.training.batches import cut


@dataclass(frozen=True, slots=True)
class HeldOutAccuracy:
    """Means over batches, each weighted by its anchors: its sentences that have context there."""

    accuracy: float
    """0 to 1: share of anchors whose best-scored candidate is a true neighbour; where words are
    predicted, of words of the next sentence that score higher than noise."""
    chance: float
    """The same share for guesses."""
    loss: float
    num_anchors: int
    num_sentences: int


def held_out_accuracy(
    model: SentenceModel,
    corpus: ParsedCorpus,
    *,
    batch_size: int | None = None,
    max_batches: int | None = None,
) -> HeldOutAccuracy:
    """Returns the in-batch accuracy over a corpus, with the model in evaluation mode.

    Args:
        corpus: opened with the part ``held_out``.
        batch_size: successive sentences that are told apart; by default as in training.
        max_batches: only the first so many batches; all by default.
    """
    size = batch_size or model.config.batch_size
    totals = torch.zeros(4, dtype=torch.float64)
    num_sentences = 0
    was_training = model.training
    model.eval()
    with torch.no_grad():
        for block in islice(_batches(corpus, size), max_batches):
            result = model.result_of(block)
            anchors = float(result.num_anchors)
            means = [float(result.accuracy), float(result.chance), float(result.loss), 1.0]
            totals += torch.tensor(means, dtype=torch.float64) * anchors
            num_sentences += len(block)
    model.train(was_training)
    accuracy, chance, loss = (totals[:3] / totals[3].clamp(min=1)).tolist()
    return HeldOutAccuracy(accuracy, chance, loss, int(totals[3]), num_sentences)


def _batches(corpus: ParsedCorpus, batch_size: int) -> Iterator[SentenceBlock]:
    for block in corpus.blocks():
        for start, stop in cut(len(block), batch_size):
            yield block.slice(start, stop)
