"""Sentences as index arrays. Legend: B sentences, T positions (the artificial root + tokens)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from pipeline.parsers.dependency.vocabulary import ROOT_WORD, DependencyVocabulary


@dataclass(frozen=True)
class TokenBatch:
    """Index tensors of B sentences, padded at the end, on one device."""

    words: Tensor
    """``[B, T]`` int64; rows of the word embedding."""
    spellings: Tensor
    """``[B, T]`` int64; position of each word in ``distinct_words``; 0 at the root."""
    lengths: Tensor
    """``[B]`` int64; tokens + 1."""
    distinct_words: list[str]
    """Surface forms, each once."""

    @property
    def token_mask(self) -> Tensor:
        """Returns bool ``[B, T]``: true for real tokens, false for the root and padding."""
        positions = torch.arange(self.words.shape[1], device=self.words.device)
        return (positions > 0) & (positions < self.lengths[:, None])


def token_batch(
    sentences: Sequence[Sequence[str]],
    vocabulary: DependencyVocabulary,
    *,
    device: torch.device | None = None,
) -> TokenBatch:
    """Returns the index tensors of some sentences; the vocabulary stays as it is.

    Args:
        sentences: at least one; no token is empty.
    """
    lengths = np.array([len(tokens) + 1 for tokens in sentences])
    words = np.full((len(sentences), int(lengths.max())), vocabulary.word_pad_id)
    spellings = np.zeros_like(words)
    numbers = {ROOT_WORD: 0}
    word_ids = [vocabulary.word_id(ROOT_WORD)]
    for row, tokens in enumerate(sentences):
        for token in tokens:
            if token not in numbers:
                numbers[token] = len(word_ids)
                word_ids.append(vocabulary.word_id(token))
        here = [0, *(numbers[token] for token in tokens)]
        spellings[row, : len(here)] = here
        words[row, : len(here)] = [word_ids[number] for number in here]
    arrays = (words, spellings, lengths)
    words_BT, spellings_BT, lengths_B = (torch.from_numpy(a).to(device) for a in arrays)
    return TokenBatch(words_BT, spellings_BT, lengths_B, list(numbers))
