"""A view that reads every word at one length, whatever it weighs in sums.

Legend: B sentences, T word types, E word dimension, H width of the view.
"""

from __future__ import annotations

from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treeviews.models.encoders.base import SentenceEncoder, SentenceStates
from treeviews.models.encoders.sentence_batch import SentenceBatch


class ReadAlike(nn.Module):
    """A view's encoder, as wide as without; unknown words, whose vectors are zero, stay so."""

    def __init__(self, view: nn.Module, *, rms: float) -> None:
        """Takes a `SentenceEncoder` over.

        Args:
            rms: root mean square of a component of each word's vector as it is read.
        """
        super().__init__()
        self.output_size = cast(SentenceEncoder, view).output_size
        self.view = view
        self._rms = rms

    def forward(self, batch: SentenceBatch, word_vectors: Tensor) -> Tensor:
        """Returns one vector per sentence, [B, H], from the word types' vectors [T, E].

        Raises:
            ValueError: the batch was made without the trees the view reads.
        """
        found: Tensor = self.view(batch, self._read(word_vectors))
        return found

    @torch.no_grad()
    def states(self, batch: SentenceBatch, word_vectors: Tensor) -> SentenceStates:
        """Returns the view's states; arguments as in `forward`.

        Raises:
            ValueError: the batch was made without the trees the view reads, or without nodes.
        """
        return cast(SentenceEncoder, self.view).states(batch, self._read(word_vectors))

    def _read(self, word_vectors: Tensor) -> Tensor:
        length: float = self._rms * word_vectors.shape[1] ** 0.5
        return F.normalize(word_vectors, dim=1) * length
