"""BOW and LIN: means of a sentence's word vectors, which read no order.

BOW is the words' own space, the baseline no structured encoder may ignore. LIN is the linear
average encoder g of Tang & de Sa 2018 (section 2.1). For a sentence s of n words with vectors
v_1 … v_n:

    g(s) = 1/n Σ_w W v_w

Legend: B sentences, T word types, E word dimension, H hidden.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treeviews.models.config.training_config import Init
from treeviews.models.encoders.sentence_encoder import (
    SentenceBatch,
    SentenceEncoder,
    SentenceStates,
    initialise,
)


class BagOfWords(SentenceEncoder):
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
        """Returns the words' vectors; see `word_states`."""
        return word_states(batch, word_vectors)


class LinearAverage(SentenceEncoder):
    """Trained, it is the paper's second view; untrained, a random projection of the bag of words.

    Words are averaged first and mapped once a sentence, which is the same.
    """

    def __init__(self, *, word_size: int, hidden_size: int, init: Init = "xavier") -> None:
        super().__init__()
        self.output_size = hidden_size
        self.projection = nn.Linear(word_size, hidden_size, bias=False)
        """W."""
        initialise(self, init, block_rows=hidden_size)

    def forward(self, batch: SentenceBatch, word_vectors: Tensor) -> Tensor:
        """Returns one vector per sentence, [B, H], from the word types' vectors [T, E]."""
        return self._project(mean_of_words(batch, word_vectors))

    @torch.no_grad()
    def states(self, batch: SentenceBatch, word_vectors: Tensor) -> SentenceStates:
        """Returns the words' vectors through the linear map (W X in the paper's table 2)."""
        return word_states(batch, self._project(word_vectors), self.forward(batch, word_vectors))

    def _project(self, vectors: Tensor) -> Tensor:
        return F.linear(vectors, self.projection.weight.to(vectors.dtype))


def mean_of_words(batch: SentenceBatch, word_vectors: Tensor) -> Tensor:
    """Returns the mean over all tokens of each sentence, unknown ones included as zero vectors.

    Sums are taken in float32 at least, those of words' gradients too: a sum of some thousand
    bfloat16 numbers in bfloat16 stops growing when its terms fall below its last place.

    Args:
        batch: the sentences.
        word_vectors: [T, E]; row t is the vector of ``batch.word_ids[t]``.

    Returns:
        [B, E], in the type of the word vectors.
    """
    wide = word_vectors.to(torch.promote_types(word_vectors.dtype, torch.float32))
    means = F.embedding_bag(batch.word_of_token, wide, batch.token_offsets[:-1], mode="mean")
    return means.to(word_vectors.dtype)


def word_states(batch: SentenceBatch, rows: Tensor, last: Tensor | None = None) -> SentenceStates:
    """Returns states of words each by itself; their last is their mean, as there is no order.

    Args:
        batch: the sentences.
        rows: [T, H]; of the word types.
        last: [B, H], if it is computed otherwise.
    """
    return SentenceStates(
        rows=rows,
        row_of_node=batch.word_of_token,
        node_offsets=batch.token_offsets,
        last=mean_of_words(batch, rows) if last is None else last,
    )
