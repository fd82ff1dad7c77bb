"""What every decoder offers: sentence vectors to word space, and back without solving anything.

Legend: B rows, D width of a sentence's vector, E width of a word's.
"""

from __future__ import annotations

from typing import Protocol

from torch import Tensor, nn

from models.config.training_config import TrainingConfig
from models.objectives.decoders.bijective import BijectiveDecoder
from models.objectives.decoders.linear import LinearDecoder


class Decoder(Protocol):
    """x = f_de(z) of Tang & de Sa 2019, section 3.3, whose inverse is the second encoder."""

    sentence_size: int
    """D."""
    word_size: int
    """E."""

    def __call__(self, sentences: Tensor) -> Tensor:
        """Returns x = f_de(z), [B, E], from sentence vectors z [B, D]."""
        ...

    def inverse(self, words: Tensor) -> Tensor:
        """Returns f_de⁻¹(x), [B, D], from vectors of the words' space x [B, E]; differentiable.

        It is a right inverse where the projection's rows are orthonormal (D >= E), a left inverse
        where its columns are.
        """
        ...

    def constrain(self) -> None:
        """Moves the projection towards orthonormality after a step of the optimiser, in place."""
        ...

    def orthonormality(self) -> Tensor:
        """Returns how far the projection is from that, the Frobenius norm of U Uᵀ - I.

        Scalar, detached; of UᵀU - I where the sentence's vector is the narrower.
        """
        ...


def build_decoder(config: TrainingConfig, *, sentence_size: int, word_size: int) -> nn.Module:
    """Returns a new `Decoder`.

    Args:
        config: which one, and what the papers leave open.
        sentence_size: D, the width of a sentence's vector.
        word_size: E, the width of a word vector.

    Raises:
        ValueError: a bijective decoder of sentence vectors of fewer than two components, or a rate
            with which the update diverges.
    """
    kind = BijectiveDecoder if config.decoder == "bijective" else LinearDecoder
    return kind(sentence_size=sentence_size, word_size=word_size, config=config)
