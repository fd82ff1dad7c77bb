"""LIN: the linear average encoder g of Tang & de Sa 2018 (section 2.1).

For a sentence s of n words with vectors v_1 … v_n:

    g(s) = 1/n Σ_w W v_w

Legend: B sentences, T word types, E word dimension, H hidden.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.encoders.bag_of_words import mean_of_words
from models.encoders.initialisation import initialise
from models.encoders.states import SentenceStates
from models.sentence_batch import SentenceBatch
from models.training_config import Init


class LinearAverage(nn.Module):
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
        """Returns the words' vectors through the linear map (W X in the paper's table 2).

        Their last is their mean, as there is no order. Arguments as in `forward`.
        """
        return SentenceStates(
            rows=self._project(word_vectors),
            row_of_node=batch.word_of_token,
            node_offsets=batch.token_offsets,
            last=self.forward(batch, word_vectors),
        )

    def _project(self, vectors: Tensor) -> Tensor:
        return F.linear(vectors, self.projection.weight.to(vectors.dtype))
