"""SEQ: a gated recurrent unit over the words in order, or an LSTM in its place.

For step t with word vector x_t, as PyTorch's `nn.GRUCell` computes it:

    r_t = σ(W^r x_t + U^r h_{t-1} + b^r)
    z_t = σ(W^z x_t + U^z h_{t-1} + b^z)
    n_t = tanh(W^n x_t + b^n + r_t * (U^n h_{t-1} + d^n))
    h_t = (1 - z_t) * n_t + z_t * h_{t-1}

Differs from Cho et al. 2014, who apply the reset gate before the product with U^n.

The LSTM (Hochreiter & Schmidhuber 1997, with forget gates), as PyTorch's `nn.LSTM` computes it:

    i_t = σ(W^i x_t + U^i h_{t-1} + b^i)
    f_t = σ(W^f x_t + U^f h_{t-1} + b^f)
    g_t = tanh(W^g x_t + U^g h_{t-1} + b^g)
    o_t = σ(W^o x_t + U^o h_{t-1} + b^o)
    c_t = f_t * c_{t-1} + i_t * g_t
    h_t = o_t * tanh(c_t)

None of the views of Simoulin & Crabbé 2021 has it. It is there for their random baseline, the
random LSTM of Wieting & Kiela 2019: two directions whose weights stay as they start, and the
largest value of each component over the words. Differs from them in how weights start, which the
field ``init`` says and they draw uniformly within 1 / sqrt(H). PyTorch's own module does its steps;
those of a GRU, a view of many trainings, are computed here, which is faster.

Legend: B sentences, N tokens, T word types, E word dimension, F distinct first words, R rows (see
`models.encoders.sequence_schedule`), H hidden.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_sequence

from treeviews.models.config.training_config import Init, SeqCell
from treeviews.models.encoders.buffer_pool import BufferPool, Lease, add_product, single_use
from treeviews.models.encoders.cell_steps import cells_for
from treeviews.models.encoders.sentence_encoder import (
    SentenceBatch,
    SentenceEncoder,
    SentenceStates,
    initialise,
    open_gates,
)
from treeviews.models.encoders.sequence_schedule import Reading, SequenceSchedule


def recurrent_encoder(*, seq_cell: SeqCell = "gru", **settings: Any) -> SentenceEncoder:
    """Returns a new `GRU` or `LSTM`, with the other settings."""
    return LSTM(**settings) if seq_cell == "lstm" else GRU(**settings)


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
        open_gates(self.word.bias[: 2 * hidden_size], init, under=("he",))

    def read_words(self, word_vectors: Tensor) -> Tensor:
        """Returns what is known of the gates before a state comes in, [T, 4H].

        In the order of `_Pass`: W^n x + b^n, W^r x + b^r + d^r, W^z x + b^z + d^z and d^n.
        """
        H, dtype = self.hidden_size, word_vectors.dtype
        of_recurrent, of_candidate = self.state.bias.split([2 * H, H])
        bias = self.word.bias + F.pad(of_recurrent, (0, H))
        # The candidate's rows first.
        weight, bias = self.word.weight.roll(H, 0), bias.roll(H)
        gates = F.linear(word_vectors, weight.to(dtype), bias.to(dtype))
        return torch.cat([gates, of_candidate.to(gates.dtype).expand(len(gates), H)], 1)


class GRU(SentenceEncoder):
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
        """Makes the encoder; each of two directions is half as wide as the result."""
        super().__init__()
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
            GRUFunction.apply(*inputs) for inputs in self._inputs(batch, word_vectors)
        ]
        return torch.cat(last, 1)

    @torch.no_grad()
    def states(self, batch: SentenceBatch, word_vectors: Tensor) -> SentenceStates:
        """Returns the state after each word, that of both directions side by side."""
        passes = [_Pass(*inputs) for inputs in self._inputs(batch, word_vectors)]
        by_token = [p.hidden.index_select(0, p.reading.row_of_token) for p in passes]
        last = [p.hidden.index_select(0, p.reading.last_rows) for p in passes]
        return SentenceStates(
            rows=torch.cat(by_token, 1),
            row_of_node=torch.arange(batch.num_tokens, device=word_vectors.device),
            node_offsets=batch.token_offsets,
            last=torch.cat(last, 1),
        )

    def _inputs(
        self, batch: SentenceBatch, word_vectors: Tensor
    ) -> Iterator[tuple[Tensor, Tensor, Reading, SequenceSchedule, BufferPool]]:
        """Yields the arguments of `GRUFunction` for each direction."""
        schedule = batch.sequence
        assert schedule is not None, "the batch was made without SEQ among its views"
        readings = (schedule.onward, schedule.backward)
        for cell, reading in zip((self.cell, self.reverse_cell), readings, strict=True):
            if cell is not None:
                gates = cell.read_words(word_vectors)
                yield gates, cell.state.weight.to(gates.dtype), reading, schedule, self._pool


class LSTM(SentenceEncoder):
    """A sentence is the state h after its last word; with two directions, after its first, too."""

    def __init__(
        self,
        *,
        word_size: int,
        hidden_size: int,
        init: Init = "xavier",
        bidirectional: bool = False,
    ) -> None:
        """Makes the encoder; each of two directions is half as wide as the result."""
        super().__init__()
        width = hidden_size // 2 if bidirectional else hidden_size
        self.output_size = hidden_size
        self.cells = nn.LSTM(word_size, width, bidirectional=bidirectional)
        initialise(self, init, block_rows=width)
        for name, parameter in self.cells.named_parameters():
            # PyTorch has two biases that add up, each of i, f, g, o.
            if name.startswith("bias_ih"):
                open_gates(parameter[width : 2 * width], init)

    def forward(self, batch: SentenceBatch, word_vectors: Tensor) -> Tensor:
        """Returns one vector per sentence, [B, H], from the word types' vectors [T, E]."""
        _, last = self._read(batch, word_vectors)
        return last

    @torch.no_grad()
    def states(self, batch: SentenceBatch, word_vectors: Tensor) -> SentenceStates:
        """Returns the state after each word, that of both directions side by side."""
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


# The states of a GRU, step by step, with their gradient.


class _Pass:
    """The states of one forward pass, in buffers that the backward pass overwrites with gradients.

    A row's gates [R, 4H] stand side by side as n, r, z, m, where n is the words' part of the
    candidate and m the state's, U^n h + d^n. So what comes of the words is the first three, what
    the product with the state gives is the last three, and it is added in place to what is there;
    backwards likewise.
    """

    def __init__(
        self,
        word_gates: Tensor,
        weight: Tensor,
        reading: Reading,
        schedule: SequenceSchedule,
        pool: BufferPool,
    ) -> None:
        """Computes all states, ``hidden`` [R, H].

        Args:
            word_gates: [T, 4H]; n, r, z, m for each word type before a state comes in: W x and all
                biases.
            weight: [3H, H]; U of r, z, n.
            reading: a direction of the schedule.
            schedule: on the tensors' device.
            pool: where the buffers come from.
        """
        H, R, F = weight.shape[1], len(reading.words), reading.num_first
        self.reading, self.schedule = reading, schedule
        self.lease, self.cells = Lease(pool, word_gates), cells_for(word_gates)
        self.gates = gates = self.lease.empty("gates", R, 4 * H)
        self.hidden = hidden = self.lease.empty("hidden", R, H)
        self.initial = self.lease.empty("initial", F, H).zero_()
        torch.index_select(word_gates, 0, reading.words, out=gates)
        self.cells.gru_forward(gates[:F], self.initial, hidden[:F])
        of_second = reading.first_rows[: sum(schedule.step_sizes[1:2])]
        self.second = previous = hidden.index_select(0, of_second)
        """[·, H]; the states that the second step starts from, one a sentence that has it."""
        for step, rows in enumerate(schedule.later_steps(reading), start=1):
            previous = previous[: rows.stop - rows.start]
            if step == 1:
                gates[rows, H:] += torch.mm(hidden[:F], weight.T).index_select(0, of_second)
            else:
                gates[rows, H:].addmm_(previous, weight.T)
            self.cells.gru_forward(gates[rows], previous, hidden[rows])
            previous = hidden[rows]


class GRUFunction(torch.autograd.Function):
    """Last states from what the words give; the weights' gradient is two products for all steps."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Tensor:
        """Returns the states after the last words, [B, H]; arguments as `_Pass` takes them."""
        p = _Pass(*arguments)
        ctx.save_for_backward(arguments[1])
        ctx.buffers, ctx.num_words = p, len(arguments[0])
        return p.hidden.index_select(0, p.reading.last_rows)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_last: Tensor) -> tuple[Tensor | None, ...]:
        """Returns the gradients of the two tensors of `forward`."""
        (weight,) = ctx.saved_tensors
        p: _Pass = single_use(ctx)
        lease, cells, gates, hidden, reading = p.lease, p.cells, p.gates, p.hidden, p.reading
        H, F, num_second = weight.shape[1], reading.num_first, len(p.second)
        carried = _later_steps_backward(p, weight, grad_last)
        # Of the first step's states, by way of the interpolation and of the product.
        grad_first = lease.total("grad_first", F, H)
        cells.add_rows(grad_first, reading.first_rows, carried, None)
        grad_product = lease.total("grad_product", F, 4 * H)
        of_second = reading.first_rows[:num_second]
        cells.add_rows(grad_product, of_second, gates[F : F + num_second], None)
        grad_product = grad_product[:, H:]
        add_product(grad_first, grad_product, weight)
        cells.gru_backward(gates[:F], p.initial, grad_first.to(gates.dtype))

        before = hidden.index_select(0, reading.previous_rows)
        grad_weight = torch.mm(gates[F + num_second :, H:].T, before)
        add_product(grad_weight, grad_product.T, hidden[:F])
        grad_words = lease.total("grad_words", ctx.num_words, 4 * H)
        cells.add_rows(grad_words, reading.words, gates, None)
        return grad_words.to(gates.dtype, copy=True), grad_weight, None, None, None


def _later_steps_backward(p: _Pass, weight: Tensor, grad_last: Tensor) -> Tensor:
    """Overwrites the gates of all steps but the first with their gradients.

    Returns:
        [B, H]; the gradients of the sentences' first states, longest sentence first, without what
        comes through the product with the weights.
    """
    B, H = grad_last.shape
    # Sentences that end at a step stand last in it, so their gradients wait here until then.
    carried = p.lease.empty("carried", B, H)
    torch.index_select(grad_last, 0, p.schedule.by_length, out=carried)
    steps = list(p.schedule.later_steps(p.reading))
    for number in range(len(steps) - 1, -1, -1):
        rows = steps[number]
        size = rows.stop - rows.start
        start = steps[number - 1].start
        before = p.hidden[start : start + size] if number else p.second
        p.cells.gru_backward(p.gates[rows], before, carried[:size])
        if number:
            carried[:size].addmm_(p.gates[rows, H:], weight)
    return carried
