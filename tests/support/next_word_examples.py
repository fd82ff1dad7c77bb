"""A small batch that predicts words, with a decoder of one matrix."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from treeviews.models.config.training_presets import preset
from treeviews.models.objectives.generative import GenerativeObjective
from treeviews.models.objectives.objective import LookUp, NextWords, SentenceContext, Sizes

SENTENCE_SIZE, WORD_SIZE, NUM_WORDS = 4, 3, 7
DOCUMENTS = torch.tensor([1, 1, 1, 2, 2])
PREDICTED = {0: [3, 5, 3], 1: [0, 2], 3: [6]}
"""Predictor -> ids of the words that follow; 0 is unknown."""
COUNTS = torch.tensor([9.0, 8.0, 1.0, 4.0, 2.0, 16.0, 3.0])


class MatrixDecoder(nn.Module):
    """x = U z; counts how often it was constrained."""

    sentence_size = SENTENCE_SIZE
    word_size = WORD_SIZE

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(2)
        self.weight = nn.Parameter(torch.randn(WORD_SIZE, SENTENCE_SIZE, generator=generator))

    def forward(self, sentences: Tensor) -> Tensor:
        return sentences @ self.weight.T

    def inverse(self, words: Tensor) -> Tensor:
        return words @ self.weight


def generative_objective(**fields: Any) -> GenerativeObjective:
    """Returns an objective of one matrix, whose words were counted."""
    objective = GenerativeObjective(
        preset("B-G", **fields), Sizes((SENTENCE_SIZE,), WORD_SIZE, NUM_WORDS)
    )
    objective.decoder = MatrixDecoder()
    objective.set_word_counts(COUNTS)
    return objective.double()


def word_table(dtype: torch.dtype = torch.float64) -> Tensor:
    generator = torch.Generator().manual_seed(4)
    table = torch.randn(NUM_WORDS, WORD_SIZE, dtype=torch.float64, generator=generator)
    table[0] = 0
    return table.to(dtype)


def look_up_in(table: Tensor) -> LookUp:
    return lambda word_ids: table[word_ids]


def sentence_vectors(num_sentences: int = 5) -> Tensor:
    generator = torch.Generator().manual_seed(6)
    vectors = torch.randn(num_sentences, SENTENCE_SIZE, dtype=torch.float64, generator=generator)
    return vectors.requires_grad_()


def context_of(predicted: dict[int, list[int]], documents: Tensor = DOCUMENTS) -> SentenceContext:
    ids = [word for words in predicted.values() for word in words]
    distinct = sorted(set(ids))
    lengths = torch.tensor([0, *map(len, predicted.values())])
    next_words = NextWords(
        word_ids=torch.tensor(distinct, dtype=torch.int64),
        words=torch.tensor([distinct.index(word) for word in ids], dtype=torch.int64),
        offsets=lengths.cumsum(0),
        predictors=torch.tensor(list(predicted), dtype=torch.int64),
    )
    return SentenceContext(documents, torch.arange(len(documents)), next_words)
