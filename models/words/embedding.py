"""From vocabulary ids to word vectors: the one lookup that all views of a model may share.

Legend: V vocabulary size, T word types of a batch, E word dimension. Id 0 is the unknown word,
whose vector is zero and stays zero.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

UNIFORM_BOUND = 0.1
"""Half-width of `WordEmbedding.uniform` (QuickThoughts)."""


class WordEmbedding(nn.Module):
    """Word vectors, frozen or trained, looked up once per word type of a batch.

    Frozen vectors are no part of the module's saved state (two million GloVe vectors would be
    2.4 GB in every checkpoint); a loader passes them in again. Trained ones are.
    """

    vectors: Tensor
    scale: Tensor

    def __init__(self, vectors: Tensor, *, trained: bool, scale: float = 1.0) -> None:
        """Makes the lookup.

        Args:
            vectors: [V, E]; floating point, row 0 zero. Frozen vectors keep their own precision
                (half is enough) and are converted as they are looked up.
            trained: whether the vectors are parameters.
            scale: every vector is multiplied by it; saved with the module.

        Raises:
            ValueError: not two-dimensional floating point, or row 0 not zero.
        """
        super().__init__()
        if vectors.dim() != 2 or not vectors.is_floating_point() or not len(vectors):
            raise ValueError(
                f"word vectors must be a floating-point table [V, E], got {vectors.dtype} "
                f"{list(vectors.shape)}"
            )
        if not vectors.is_meta and vectors[0].any():
            raise ValueError("row 0 of the word vectors is the unknown word and must be zero")
        if trained:
            self.vectors = nn.Parameter(vectors.detach().clone())
        else:
            self.register_buffer("vectors", vectors, persistent=False)
        # Its type is the type of the result, so that module.double() does what it says.
        self.register_buffer("scale", torch.tensor(scale))

    @classmethod
    def frozen(cls, vectors: Tensor, *, scale: float = 1.0) -> WordEmbedding:
        """Returns frozen vectors [V, E], all multiplied by one constant.

        Raises:
            ValueError: see `WordEmbedding`.
        """
        return cls(vectors, trained=False, scale=scale)

    @classmethod
    def xavier(cls, num_words: int, word_size: int) -> WordEmbedding:
        """Returns trained vectors drawn by Xavier (Simoulin & Crabbé 2021, section Experiments)."""
        vectors = nn.init.xavier_uniform_(torch.empty(num_words, word_size))
        vectors[0] = 0
        return cls(vectors, trained=True)

    @classmethod
    def uniform(cls, num_words: int, word_size: int) -> WordEmbedding:
        """Returns trained vectors drawn uniformly within 0.1 of zero (QuickThoughts)."""
        vectors = torch.empty(num_words, word_size).uniform_(-UNIFORM_BOUND, UNIFORM_BOUND)
        vectors[0] = 0
        return cls(vectors, trained=True)

    @property
    def word_size(self) -> int:
        """E."""
        return self.vectors.shape[1]

    def forward(self, word_ids: Tensor) -> Tensor:
        """Returns the vectors of ``word_ids`` [T], a tensor [T, E] of its own."""
        looked_up = self.vectors.index_select(0, word_ids).to(self.scale.dtype) * self.scale
        if not self.vectors.requires_grad:
            return looked_up
        # No gradient reaches the unknown word, so no optimiser moves it from zero.
        return looked_up.masked_fill((word_ids == 0)[:, None], 0.0)
