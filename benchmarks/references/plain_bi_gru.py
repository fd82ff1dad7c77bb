"""The bidirectional GRU of Tang & de Sa 2018 on padded batches: `nn.GRU` over all of it, or packed.

Legend: L words of the longest sentence, B sentences, E word dimension, d hidden of a direction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

from treeviews.models.corpus.sentence_block import SentenceBlock


@dataclass(frozen=True, slots=True, eq=False)
class PaddedBatch:
    """Successive sentences as most PyTorch code has them."""

    words: Tensor
    """[L, B] int64; vocabulary ids, 0 for unknown words and after a sentence's end."""
    lengths: Tensor
    """[B] int64; words of each sentence."""
    lengths_on_cpu: Tensor
    """[B] int64; the same, where packing wants them."""
    documents: Tensor
    """[B] int64; equal for sentences of one document."""
    sentence_index: Tensor
    """[B] int64; position in the document."""

    @classmethod
    def of(cls, block: SentenceBlock) -> PaddedBatch:
        """Returns a block's sentences."""
        lengths = torch.from_numpy(block.lengths)
        words = torch.tensor(block.token_ids, dtype=torch.int64)
        return cls(
            words=pad_sequence(words.split(lengths.tolist())),
            lengths=lengths,
            lengths_on_cpu=lengths,
            documents=torch.tensor(block.documents, dtype=torch.int64),
            sentence_index=torch.tensor(block.sentence_index, dtype=torch.int64),
        )

    def to(self, device: torch.device) -> PaddedBatch:
        """Returns the batch with its tensors on ``device``."""
        return PaddedBatch(
            self.words.to(device),
            self.lengths.to(device),
            self.lengths_on_cpu,
            self.documents.to(device),
            self.sentence_index.to(device),
        )

    @property
    def is_word(self) -> Tensor:
        """[L, B] bool; False after a sentence's end."""
        places = torch.arange(len(self.words), device=self.words.device)
        return places[:, None] < self.lengths


class PaddedBiGRU(nn.Module):
    """Two GRUs over all positions, one of them over each sentence turned round.

    A bidirectional `nn.GRU` would do the same work, but read the padding before the last word.
    """

    label = "plain PyTorch, padded"

    def __init__(self, word_size: int, width: int) -> None:
        super().__init__()
        self.there = nn.GRU(word_size, width)
        self.back = nn.GRU(word_size, width)

    def forward(self, batch: PaddedBatch, vectors: Tensor) -> Tensor:
        """Returns the states after the last word and, read backwards, after the first, [B, 2d].

        Args:
            vectors: [L, B, E]; of the batch's words.
        """
        places = torch.arange(len(batch.words), device=batch.words.device)[:, None]
        turned = torch.where(batch.is_word, batch.lengths - 1 - places, places)
        sentences = torch.arange(len(batch.lengths), device=batch.words.device)
        states = [self.there(vectors)[0], self.back(vectors[turned, sentences])[0]]
        return torch.cat([state[batch.lengths - 1, sentences] for state in states], 1)

    def named_as_here(self, encoder: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Returns the weights of our bidirectional GRU under this module's names."""
        return {
            f"{direction}.{name}": encoder[f"{cell}.{weight}"]
            for direction, cell in (("there", "cell"), ("back", "reverse_cell"))
            for name, weight in _OUR_NAMES.items()
        }


class PackedBiGRU(nn.Module):
    """One bidirectional `nn.GRU` over a packed sequence, which skips the padding."""

    label = "plain PyTorch, packed"

    def __init__(self, word_size: int, width: int) -> None:
        super().__init__()
        self.gru = nn.GRU(word_size, width, bidirectional=True)

    def forward(self, batch: PaddedBatch, vectors: Tensor) -> Tensor:
        """Returns the same from the same, see `PaddedBiGRU`."""
        packed = pack_padded_sequence(vectors, batch.lengths_on_cpu, enforce_sorted=False)
        return torch.cat(list(self.gru(packed)[1]), 1)

    def named_as_here(self, encoder: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Returns the weights of our bidirectional GRU under this module's names."""
        return {
            f"gru.{name}{suffix}": encoder[f"{cell}.{weight}"]
            for suffix, cell in (("", "cell"), ("_reverse", "reverse_cell"))
            for name, weight in _OUR_NAMES.items()
        }


PlainBiGRU = PaddedBiGRU | PackedBiGRU

_OUR_NAMES = {
    "weight_ih_l0": "word.weight",
    "bias_ih_l0": "word.bias",
    "weight_hh_l0": "state.weight",
    "bias_hh_l0": "state.bias",
}
"""`nn.GRU`'s name of a weight -> its name in our cell; the gates stand in the same order."""
