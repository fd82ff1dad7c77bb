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

from models.encoders.initialisation import initialise
from models.encoders.states import SentenceStates
from models.functions.buffers import BufferPool
from models.functions.gru import GRUFunction, gru_states
from models.schedules import SequenceSchedule
from models.sentence_batch import SentenceBatch
from models.variants import Init


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


class GRU(nn.Module):
    """A sentence is the state after its last word; with two directions, that after its first, too.

    Sentences are packed longest first, so no step computes padding. The words' part is computed
    once per word type.
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
        last = self._read(self.cell, batch, batch.sequence.tokens, word_vectors)
        if self.reverse_cell is None:
            return last
        tokens = batch.sequence.reversed_tokens
        return torch.cat([last, self._read(self.reverse_cell, batch, tokens, word_vectors)], 1)

    @torch.no_grad()
    def states(self, batch: SentenceBatch, word_vectors: Tensor) -> SentenceStates:
        """Returns the state after each word, that of both directions side by side.

        Arguments as in `forward`.
        """
        schedule = batch.sequence
        directions = [(self.cell, schedule.tokens)]
        if self.reverse_cell is not None:
            directions.append((self.reverse_cell, schedule.reversed_tokens))
        by_token, last = [], []
        for cell, tokens in directions:
            hidden = gru_states(*self._inputs(cell, batch, tokens, word_vectors))
            by_token.append(torch.empty_like(hidden).index_copy_(0, tokens, hidden))
            last.append(hidden.index_select(0, schedule.last_rows))
        return SentenceStates(
            rows=torch.cat(by_token, 1),
            row_of_node=torch.arange(batch.num_tokens, device=word_vectors.device),
            node_offsets=batch.token_offsets,
            last=torch.cat(last, 1),
        )

    def _read(
        self, cell: GRUCell, batch: SentenceBatch, tokens: Tensor, word_vectors: Tensor
    ) -> Tensor:
        last: Tensor = GRUFunction.apply(*self._inputs(cell, batch, tokens, word_vectors))
        return last

    def _inputs(
        self, cell: GRUCell, batch: SentenceBatch, tokens: Tensor, word_vectors: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, SequenceSchedule, BufferPool]:
        """Returns the arguments of `GRUFunction`, for tokens in the order of the packed rows."""
        dtype = word_vectors.dtype
        gates = F.linear(word_vectors, cell.word.weight.to(dtype), cell.word.bias.to(dtype))
        return (
            gates,
            cell.state.weight.to(gates.dtype),
            cell.state.bias.to(gates.dtype),
            batch.word_of_token.index_select(0, tokens),
            batch.sequence,
            self._pool,
        )
