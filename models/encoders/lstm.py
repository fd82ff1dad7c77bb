"""SEQ with an LSTM's cell in the GRU's place (Hochreiter & Schmidhuber 1997, with forget gates).

For step t with word vector x_t, as PyTorch's `nn.LSTM` computes it:

    i_t = σ(W^i x_t + U^i h_{t-1} + b^i)
    f_t = σ(W^f x_t + U^f h_{t-1} + b^f)
    g_t = tanh(W^g x_t + U^g h_{t-1} + b^g)
    o_t = σ(W^o x_t + U^o h_{t-1} + b^o)
    c_t = f_t * c_{t-1} + i_t * g_t
    h_t = o_t * tanh(c_t)

None of the views of Simoulin & Crabbé 2021 has it. It is there for their random baseline, the
random LSTM of Wieting & Kiela 2019: two directions whose weights stay as they start, and the
largest value of each component over the words. Differs from them in how weights start, which the
field ``init`` says and they draw uniformly within 1 / sqrt(H).

PyTorch's own module does the steps. A GRU, a view of every training, has loops of its own here,
which are faster.

Legend: B sentences, N tokens, T word types, E word dimension, H hidden.
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_sequence

from treeviews.models.config.training_config import Init
from treeviews.models.encoders.base import SentenceStates, initialise, open_forget_gates
from treeviews.models.encoders.sentence_batch import SentenceBatch


class LSTM(nn.Module):
    """A sentence is the state h after its last word; with two directions, after its first, too."""

    def __init__(
        self,
        *,
        word_size: int,
        hidden_size: int,
        init: Init = "xavier",
        bidirectional: bool = False,
    ) -> None:
        """Makes the encoder; each of two directions is half as wide as the result.

        Raises:
            ValueError: two directions of an odd width.
        """
        super().__init__()
        if bidirectional and hidden_size % 2:
            raise ValueError(f"two directions need an even hidden_size, got {hidden_size}")
        width = hidden_size // 2 if bidirectional else hidden_size
        self.output_size = hidden_size
        self.cells = nn.LSTM(word_size, width, bidirectional=bidirectional)
        initialise(self, init, block_rows=width)
        for name, parameter in self.cells.named_parameters():
            # PyTorch has two biases that add up, each of i, f, g, o.
            if name.startswith("bias_ih"):
                open_forget_gates(parameter[width : 2 * width], init)

    def forward(self, batch: SentenceBatch, word_vectors: Tensor) -> Tensor:
        """Returns one vector per sentence, [B, H], from the word types' vectors [T, E]."""
        _, last = self._read(batch, word_vectors)
        return last

    @torch.no_grad()
    def states(self, batch: SentenceBatch, word_vectors: Tensor) -> SentenceStates:
        """Returns the state after each word, that of both directions side by side.

        Arguments as in `forward`.
        """
        packed, last = self._read(batch, word_vectors)
        places = _packed(batch, torch.arange(batch.num_tokens, device=word_vectors.device))
        by_token = torch.empty_like(packed)
        by_token[places.data] = packed
        return SentenceStates(
            rows=by_token,
            row_of_node=torch.arange(batch.num_tokens, device=word_vectors.device),
            node_offsets=batch.token_offsets,
            last=last,
        )

    def _read(self, batch: SentenceBatch, word_vectors: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the states in packed order, [N, H], and the last ones, [B, H].

        Computed in the type of the weights; the states are of the word vectors' type.
        """
        words = _packed(batch, batch.word_of_token)
        vectors = word_vectors.to(cast(Tensor, self.cells.weight_hh_l0).dtype)
        vectors = vectors.index_select(0, words.data)
        states, (last, _) = self.cells(words._replace(data=vectors))
        of_sentences = last.transpose(0, 1).reshape(batch.num_sentences, self.output_size)
        return states.data.to(word_vectors.dtype), of_sentences.to(word_vectors.dtype)


def _packed(batch: SentenceBatch, values: Tensor) -> PackedSequence:
    """Returns a value of each token, [N], step by step with the longest sentence first."""
    lengths = batch.token_offsets.diff().cpu()
    padded = pad_sequence(list(values.split(lengths.tolist())))
    return pack_padded_sequence(padded, lengths, enforce_sorted=False)
