"""BOW: the mean of a sentence's word vectors, the baseline no structured encoder may ignore.

Legend: B sentences, T word types, E word dimension.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.encoders.states import SentenceStates
from models.sentence_batch import SentenceBatch


class BagOfWords(nn.Module):
    """The words' own space; there is nothing to train."""

    def __init__(self, *, word_size: int) -> None:
        """Makes the encoder, as wide as a word vector."""
        super().__init__()
        self.output_size = word_size

    def forward(self, batch: SentenceBatch, word_vectors: Tensor) -> Tensor:
        """Returns one vector per sentence, [B, E], from the word types' vectors [T, E]."""
        return mean_of_words(batch, word_vectors)

    @torch.no_grad()
    def states(self, batch: SentenceBatch, word_vectors: Tensor) -> SentenceStates:
        """Returns the words' vectors; their last is their mean, as there is no order.

        Arguments as in `forward`.
        """
        return SentenceStates(
            rows=word_vectors,
            row_of_node=batch.word_of_token,
            node_offsets=batch.token_offsets,
            last=mean_of_words(batch, word_vectors),
        )


def mean_of_words(batch: SentenceBatch, word_vectors: Tensor) -> Tensor:
    """Returns the mean over all tokens of each sentence, unknown ones included as zero vectors.

    Args:
        batch: the sentences.
        word_vectors: [T, E]; row t is the vector of ``batch.word_ids[t]``.

    Returns:
        [B, E].
    """
    return F.embedding_bag(batch.word_of_token, word_vectors, batch.token_offsets[:-1], mode="mean")
