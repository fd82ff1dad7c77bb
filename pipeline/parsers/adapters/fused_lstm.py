"""A bidirectional LSTM layer over padded sequences, one fused call per direction.

Hochreiter & Schmidhuber 1997; gates in torch's order. supar's own layer steps through time in
Python and packs its input; the weights and results are the same.
Legend: T positions, B sequences, D input features, H hidden features of one direction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn


def bidirectional_layer(
    inputs_TBD: Tensor,
    lengths_B: Tensor,
    forward_weights: Sequence[Tensor],
    backward_weights: Sequence[Tensor],
) -> Tensor:
    """Returns the states ``[T, B, 2 H]``, forward half first; beyond a length they mean nothing.

    The backward direction reads each sequence turned round within its own length, so that padding
    comes last for both directions and never reaches a real position.

    Args:
        lengths_B: int64, each 1 to T.
        forward_weights: input, recurrent, input bias, recurrent bias, as ``torch.nn.LSTMCell``'s.
        backward_weights: likewise.
    """
    num_positions, num_sequences, _ = inputs_TBD.shape
    time = torch.arange(num_positions, device=inputs_TBD.device)[:, None]
    turned = torch.where(time < lengths_B, lengths_B - 1 - time, time)
    columns = torch.arange(num_sequences, device=inputs_TBD.device)
    rows = (turned * num_sequences + columns).flatten()
    forward = _direction(inputs_TBD, forward_weights)
    backward = _direction(_reorder(inputs_TBD, rows), backward_weights)
    return torch.cat((forward, _reorder(backward, rows)), -1)


def last_states(lstm: nn.LSTM, inputs_TBD: Tensor, lengths_B: Tensor) -> Tensor:
    """Returns ``[B, 2 H]``: each sequence read to its last position, and back to its first."""
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    there = [getattr(lstm, name) for name in names]
    back = [getattr(lstm, f"{name}_reverse") for name in names]
    states_TBD = bidirectional_layer(inputs_TBD, lengths_B, there, back)
    forward, backward = states_TBD.chunk(2, -1)
    sequences = torch.arange(len(lengths_B), device=lengths_B.device)
    return torch.cat((forward[lengths_B - 1, sequences], backward[0]), -1)


def read_by_length(
    lengths_Y: Tensor, widths: Sequence[int], read: Callable[[Tensor, int], Tensor]
) -> Tensor:
    """Returns ``[Y, ...]``: what is read of sequences, those of like length together.

    Args:
        lengths_Y: int64, at least 1, on the CPU.
        widths: ascending; a sequence is read with those that fit the same width first.
        read: gives the rows of some sequences, by their numbers and the width that they fit.
    """
    parts, numbers, shorter = [], [], 0
    for width in widths:
        members = ((lengths_Y > shorter) & (lengths_Y <= width)).nonzero()[:, 0]
        shorter = max(shorter, width)
        if len(members):
            parts.append(read(members, width))
            numbers.append(members)
    rows = torch.cat(parts)
    return rows.index_select(0, torch.cat(numbers).argsort().to(rows.device))


def _reorder(inputs_TBD: Tensor, rows: Tensor) -> Tensor:
    # Whole rows by index_select: its gradient is many times faster than that of indexing.
    return inputs_TBD.flatten(0, 1).index_select(0, rows).view(inputs_TBD.shape)


def _direction(inputs_TBD: Tensor, weights: Sequence[Tensor]) -> Tensor:
    start = inputs_TBD.new_zeros(1, inputs_TBD.shape[1], weights[1].shape[1])
    states, _, _ = torch.lstm(
        inputs_TBD.contiguous(),
        (start, start),
        list(weights),
        has_biases=True,
        num_layers=1,
        dropout=0.0,
        train=torch.is_grad_enabled(),
        bidirectional=False,
        batch_first=False,
    )
    return states
