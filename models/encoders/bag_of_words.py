"""The mean of a sentence's word vectors: the baseline no structured encoder may ignore.

Legend: B sentences, T word types, E word dimension, H hidden.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.encoders.initialisation import initialise
from models.encoders.states import SentenceStates
from models.sentence_batch import SentenceBatch
from models.variants import Init


class BagOfWords(nn.Module):
    """Mean over all tokens, unknown ones included as zero vectors, then a linear map if asked.

    Untrained, the linear map is the random projection that gives the baseline a pair's width;
    trained, it is the linear average encoder g of Tang & de Sa 2018.
    """

    def __init__(
        self, *, word_size: int, hidden_size: int | None = None, init: Init = "xavier"
    ) -> None:
        """Makes the encoder; without ``hidden_size`` it has no parameters and H = E."""
        super().__init__()
        self.output_size = word_size if hidden_size is None else hidden_size
        self.projection: nn.Linear | None = None
        if hidden_size is not None:
            self.projection = nn.Linear(word_size, hidden_size)
            initialise(self.projection, init, block_rows=hidden_size)

    def forward(self, batch: SentenceBatch, word_vectors: Tensor) -> Tensor:
        """Returns one vector per sentence, [B, H], from the word types' vectors [T, E]."""
        mean = F.embedding_bag(
            batch.word_of_token, word_vectors, batch.token_offsets[:-1], mode="mean"
        )
        return self._project(mean)

    @torch.no_grad()
    def states(self, batch: SentenceBatch, word_vectors: Tensor) -> SentenceStates:
        """Returns the words' vectors through the linear map (W X of Tang & de Sa 2018, table 2).

        Their last is their mean, as there is no order. Arguments as in `forward`.
        """
        return SentenceStates(
            rows=self._project(word_vectors),
            row_of_node=batch.word_of_token,
            node_offsets=batch.token_offsets,
            last=self.forward(batch, word_vectors),
        )

    def _project(self, vectors: Tensor) -> Tensor:
        if self.projection is None:
            return vectors
        dtype = vectors.dtype
        return F.linear(vectors, self.projection.weight.to(dtype), self.projection.bias.to(dtype))
