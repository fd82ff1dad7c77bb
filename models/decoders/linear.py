"""A projection to the words' space whose transpose is its inverse.

    x = U z,    f_de⁻¹(x) = Uᵀ x        Tang & de Sa 2018, section 2.2; 2019, section 3.3.1

With D >= E the rows of U are kept orthonormal and Uᵀ is a right inverse: words survive the way
there and back, sentences are projected onto the row space. With D < E the columns are, and Uᵀ is a
left inverse.

Legend: B rows, D width of a sentence's vector, E width of a word's.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from models.decoders.orthonormal import (
    largest_rate,
    orthonormality_defect,
    update_towards_orthonormal,
)
from models.encoders.initialisation import initialise
from models.training_config import Init


class LinearDecoder(nn.Module):
    """U [E, D], no bias."""

    def __init__(
        self, *, sentence_size: int, word_size: int, orthonormal_rate: float = 0.01, init: Init
    ) -> None:
        """Makes the decoder; its U is not orthonormal yet, unless ``init`` makes it so.

        Args:
            sentence_size: D.
            word_size: E.
            orthonormal_rate: β; 0 leaves U free, and its transpose is the inverse by name only
                (Tang & de Sa 2018, section 4.1, use it all the same).
            init: how U starts.

        Raises:
            ValueError: from such a start the update with this rate diverges.
        """
        super().__init__()
        self.sentence_size = sentence_size
        self.word_size = word_size
        self.orthonormal_rate = orthonormal_rate
        self.projection = nn.Linear(sentence_size, word_size, bias=False)
        initialise(self.projection, init, block_rows=word_size)
        self._check_rate(init)

    def forward(self, sentences: Tensor) -> Tensor:
        """Returns x = U z, [B, E], from sentence vectors z [B, D]."""
        return F.linear(sentences, self.projection.weight)

    def inverse(self, words: Tensor) -> Tensor:
        """Returns Uᵀ x, [B, D], from vectors of the words' space x [B, E]."""
        return words @ self.projection.weight

    def constrain(self) -> None:
        """Moves U towards orthonormality after a step of the optimiser, in place."""
        if self.orthonormal_rate:
            update_towards_orthonormal(self.projection.weight, self.orthonormal_rate)

    def orthonormality(self) -> Tensor:
        """Returns ‖U Uᵀ - I‖_F, of Uᵀ U if D < E. Scalar, detached."""
        return orthonormality_defect(self.projection.weight)

    def _check_rate(self, init: Init) -> None:
        largest = largest_rate(self.projection.weight)
        if self.orthonormal_rate >= largest:
            raise ValueError(
                f"orthonormal_rate {self.orthonormal_rate} diverges from init {init!r} at sentence "
                f"size {self.sentence_size} and word size {self.word_size}: make it less than "
                f"{largest:.2g}, or init orthonormal"
            )
