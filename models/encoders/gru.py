"""SEQ: a gated recurrent unit over the words in order.

For step t with word vector x_t, as PyTorch's `nn.GRUCell` computes it:

    r_t = σ(W^r x_t + U^r h_{t-1} + b^r)
    z_t = σ(W^z x_t + U^z h_{t-1} + b^z)
    n_t = tanh(W^n x_t + b^n + r_t * (U^n h_{t-1} + d^n))
    h_t = (1 - z_t) * n_t + z_t * h_{t-1}

Differs from Cho et al. 2014, who apply the reset gate before the product with U^n.

Legend: B sentences, T word types, E word dimension, H hidden.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treeviews.models.config.training_config import Init
from treeviews.models.encoders.base import SentenceStates, initialise, open_recurrent_gates, require
from treeviews.models.encoders.level_loops.buffers import BufferPool
from treeviews.models.encoders.level_loops.gru import GRUFunction, gru_states
from treeviews.models.encoders.order import Reading, SequenceSchedule
from treeviews.models.encoders.sentence_batch import SentenceBatch


class GRUCell(nn.Module):
    """The parameters of one direction."""

    def __init__(self, *, word_size: int, hidden_size: int, init: Init) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.word = nn.Linear(word_size, 3 * hidden_size)
        """W and b of r, z, n."""
        self.state = nn.Linear(hidden_size, 3 * hidden_size)
        """U and d of r, z, n; as in PyTorch, the d of r and z only add to their b."""
        initialise(self, init, block_rows=hidden_size)
        # What the state brings adds up with it, so that bias stays 0.
        open_recurrent_gates(self.word.bias[: 2 * hidden_size], init)

    def read_words(self, word_vectors: Tensor) -> Tensor:
        """Returns what is known of the gates before a state comes in, [T, 4H].

        In the order of `models.encoders.level_loops.gru`: W^n x + b^n, W^r x + b^r + d^r,
        W^z x + b^z + d^z and d^n.
        """
        H, dtype = self.hidden_size, word_vectors.dtype
        of_recurrent, of_candidate = self.state.bias.split([2 * H, H])
        bias = self.word.bias + F.pad(of_recurrent, (0, H))
        # The candidate's rows first.
        weight, bias = self.word.weight.roll(H, 0), bias.roll(H)
        gates = F.linear(word_vectors, weight.to(dtype), bias.to(dtype))
        return torch.cat([gates, of_candidate.to(gates.dtype).expand(len(gates), H)], 1)


class GRU(nn.Module):
    """A sentence is the state after its last word; with two directions, that after its first, too.

    Sentences are packed longest first, so no step computes padding. The words' part and the states
    after first words are computed once per word type.
    """

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
        self.cell = GRUCell(word_size=word_size, hidden_size=width, init=init)
        self.reverse_cell: GRUCell | None = None
        if bidirectional:
            self.reverse_cell = GRUCell(word_size=word_size, hidden_size=width, init=init)
        self._pool = BufferPool()

    def forward(self, batch: SentenceBatch, word_vectors: Tensor) -> Tensor:
        """Returns one vector per sentence, [B, H], from the word types' vectors [T, E]."""
        last: list[Tensor] = [
            GRUFunction.apply(*self._inputs(cell, reading, batch, word_vectors))
            for cell, reading in self._directions(batch)
        ]
        return torch.cat(last, 1)

    @torch.no_grad()
    def states(self, batch: SentenceBatch, word_vectors: Tensor) -> SentenceStates:
        """Returns the state after each word, that of both directions side by side.

        Arguments as in `forward`.
        """
        by_token, last = [], []
        for cell, reading in self._directions(batch):
            hidden = gru_states(*self._inputs(cell, reading, batch, word_vectors))
            by_token.append(hidden.index_select(0, reading.row_of_token))
            last.append(hidden.index_select(0, reading.last_rows))
        return SentenceStates(
            rows=torch.cat(by_token, 1),
            row_of_node=torch.arange(batch.num_tokens, device=word_vectors.device),
            node_offsets=batch.token_offsets,
            last=torch.cat(last, 1),
        )

    def _directions(self, batch: SentenceBatch) -> list[tuple[GRUCell, Reading]]:
        sequence = _sequence_of(batch)
        directions = [(self.cell, sequence.onward)]
        if self.reverse_cell is not None:
            directions.append((self.reverse_cell, sequence.backward))
        return directions

    def _inputs(
        self, cell: GRUCell, reading: Reading, batch: SentenceBatch, word_vectors: Tensor
    ) -> tuple[Tensor, Tensor, Reading, SequenceSchedule, BufferPool]:
        """Returns the arguments of `GRUFunction`."""
        gates = cell.read_words(word_vectors)
        weight = cell.state.weight.to(gates.dtype)
        return gates, weight, reading, _sequence_of(batch), self._pool


def _sequence_of(batch: SentenceBatch) -> SequenceSchedule:
    return require(batch.sequence, "GRU", "SEQ among its views")
