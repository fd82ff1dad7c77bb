"""From a decoder's configuration to the decoder."""

from __future__ import annotations

from torch import nn

from models.decoders.bijective import BijectiveDecoder
from models.decoders.config import DecoderConfig
from models.decoders.linear import LinearDecoder


def build_decoder(config: DecoderConfig, *, sentence_size: int, word_size: int) -> nn.Module:
    """Returns a new `Decoder`.

    Args:
        config: which one, and what the papers leave open.
        sentence_size: D, the width of a sentence's vector.
        word_size: E, the width of a word vector.

    Raises:
        ValueError: a bijective decoder of sentence vectors of fewer than two components, or a rate
            with which the update diverges.
    """
    if config.decoder == "bijective":
        return BijectiveDecoder(sentence_size=sentence_size, word_size=word_size, config=config)
    return LinearDecoder(
        sentence_size=sentence_size,
        word_size=word_size,
        orthonormal_rate=config.orthonormal_rate,
        init=config.init,
    )
