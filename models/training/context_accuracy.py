"""How often a trained critic finds the true context among a batch of held-out sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import torch

from models.contrastive_model import ContrastiveModel
from models.corpus.parsed_corpus import ParsedCorpus
from models.corpus.sentence_block import SentenceBlock
from models.training.batches import cut


@dataclass(frozen=True, slots=True)
class ContextAccuracy:
    """Means over all anchors, that is over sentences with context in their batch."""

    accuracy: float
    """Share of anchors whose best-scored candidate is a true neighbour, 0 to 1."""
    chance: float
    """The same share for a critic that guesses."""
    loss: float
    num_anchors: int
    num_sentences: int


def held_out_context_accuracy(
    model: ContrastiveModel,
    corpus: ParsedCorpus,
    *,
    batch_size: int | None = None,
    max_batches: int | None = None,
) -> ContextAccuracy:
    """Returns the in-batch context accuracy over a corpus, with the model in evaluation mode.

    Args:
        corpus: opened with the part ``held_out``.
        batch_size: successive sentences that are told apart; by default as in training.
        max_batches: only the first so many batches; all by default.
    """
    device = next(model.parameters()).device
    size = batch_size or model.config.batch_size
    totals = torch.zeros(4, dtype=torch.float64)
    num_sentences = 0
    was_training = model.training
    model.eval()
    with torch.no_grad():
        for block in islice(_batches(corpus, size), max_batches):
            result = model.result_of(block, device)
            anchors = float(result.num_anchors)
            means = [float(result.accuracy), float(result.chance), float(result.loss), 1.0]
            totals += torch.tensor(means, dtype=torch.float64) * anchors
            num_sentences += len(block)
    model.train(was_training)
    accuracy, chance, loss = (totals[:3] / totals[3].clamp(min=1)).tolist()
    return ContextAccuracy(accuracy, chance, loss, int(totals[3]), num_sentences)


def _batches(corpus: ParsedCorpus, batch_size: int) -> Iterator[SentenceBlock]:
    for block in corpus.blocks():
        for start, stop in cut(len(block), batch_size):
            yield block.slice(start, stop)
