"""What the references share: they are made for some sentences and take our encoder's weights.

Legend: B sentences, N tokens, T word types, E word dimension, H hidden.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_sequence

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


class PackedGRU(Reference):
    """The words' vectors are looked up in packed order, so that no step pads or packs again."""

    label = "nn.GRU, packed"

    def __init__(self, block: SentenceBlock, *, word_size: int, hidden_size: int) -> None:
        super().__init__(block)
        self.gru = nn.GRU(word_size, hidden_size)
        self._words = pack_sequence(
            self.word_of_token.split(block.lengths.tolist()), enforce_sorted=False
        )

    def forward(self, word_vectors: Tensor) -> Tensor:
        """Returns the states after the last words, [B, H]."""
        words = self._words
        packed = PackedSequence(
            word_vectors.index_select(0, words.data),
            words.batch_sizes,
            words.sorted_indices,
            words.unsorted_indices,
        )
        last: Tensor = self.gru(packed)[1][0]
        return last

    def named_as_here(self, encoder: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Returns our weights under `nn.GRU`'s names; the gates stand in the same order."""
        return {
            "gru.weight_ih_l0": encoder["cell.word.weight"],
            "gru.bias_ih_l0": encoder["cell.word.bias"],
            "gru.weight_hh_l0": encoder["cell.state.weight"],
            "gru.bias_hh_l0": encoder["cell.state.bias"],
        }
