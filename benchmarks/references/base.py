"""What the references share: they are made for some sentences and take our encoder's weights.

Legend: B sentences, N tokens, T word types, E word dimension, H hidden.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from treeviews.models.corpus.sentence_block import SentenceBlock
from treeviews.models.model.sentence_model import batch_of


class Reference(nn.Module, ABC):
    """Another implementation of an encoder, for the sentences it was made with."""

    label: str
    """Its name in a table."""

    def __init__(self, block: SentenceBlock) -> None:
        super().__init__()
        self.offsets = torch.from_numpy(block.offsets)
        """[B+1] int64."""
        self.word_of_token = batch_of(block).word_of_token
        """[N] int64; row of each token's word type in the word vectors."""

    @abstractmethod
    def forward(self, word_vectors: Tensor) -> Tensor:
        """Returns one vector per sentence, [B, H], from the word types' vectors [T, E]."""

    @abstractmethod
    def named_as_here(self, encoder: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Returns our encoder's weights, or their gradients, under this module's names."""

    def take_weights(self, encoder: nn.Module) -> None:
        """Copies the weights of our encoder."""
        self.load_state_dict(self.named_as_here(encoder.state_dict()))


def rows_of(name: str, weights: Mapping[str, Tensor], part: slice) -> dict[str, Tensor]:
    """Returns a linear layer's weight and bias cut to some of its outputs."""
    return {kind: weights[f"{name}.{kind}"][part] for kind in ("weight", "bias")}
