"""Coupling layers, then the orthonormal projection ("Bijection+Linear").

    x = U c_L(… c_1(z)),    f_de⁻¹(x) = c_1⁻¹(… c_L⁻¹(Uᵀ x))

Tang & de Sa 2019, section 3.3.2: a bijection keeps the width, so the projection follows it.

Legend: B rows, D width of a sentence's vector, E width of a word's, L coupling layers.
"""

from __future__ import annotations

from typing import cast

from torch import Tensor, nn

from models.decoders.config import DecoderConfig
from models.decoders.coupling import CouplingLayer
from models.decoders.linear import LinearDecoder


class BijectiveDecoder(nn.Module):
    """L coupling layers, each of which keeps the part that the one before it moved."""

    def __init__(self, *, sentence_size: int, word_size: int, config: DecoderConfig) -> None:
        """Makes the decoder.

        Raises:
            ValueError: sentence vectors of fewer than two components, or a rate with which the
                update diverges.
        """
        super().__init__()
        self.sentence_size = sentence_size
        self.word_size = word_size
        self.couplings = nn.ModuleList(
            CouplingLayer(sentence_size, config, keeps_first=layer % 2 == 0)
            for layer in range(config.coupling_layers)
        )
        self.linear = LinearDecoder(
            sentence_size=sentence_size,
            word_size=word_size,
            orthonormal_rate=config.orthonormal_rate,
            init=config.init,
        )

    def forward(self, sentences: Tensor) -> Tensor:
        """Returns x [B, E] from sentence vectors z [B, D]."""
        for coupling in self.couplings:
            sentences = coupling(sentences)
        return cast(Tensor, self.linear(sentences))

    def inverse(self, words: Tensor) -> Tensor:
        """Returns f_de⁻¹(x), [B, D], from vectors of the words' space x [B, E]."""
        sentences = self.linear.inverse(words)
        for coupling in reversed(self.couplings):
            sentences = cast(CouplingLayer, coupling).inverse(sentences)
        return sentences

    def constrain(self) -> None:
        """Moves the projection towards orthonormality after a step of the optimiser, in place."""
        self.linear.constrain()

    def orthonormality(self) -> Tensor:
        """Returns ‖U Uᵀ - I‖_F of the projection, of Uᵀ U if D < E. Scalar, detached."""
        return self.linear.orthonormality()
