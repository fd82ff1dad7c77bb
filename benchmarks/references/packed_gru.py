"""SEQ as PyTorch offers it: `nn.GRU` over a packed sequence."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_sequence

from benchmarks.references.base import Reference
from treeviews.models.corpus.sentence_block import SentenceBlock


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
