"""benepar's encoder for prediction: no padding, no mask, as few and as large products as it has.

The sentences of a batch stand one after the other, shortest first, so that all but attention is a
matrix product over real positions, and attention runs over sentences of equal length without a
mask. The equations are those of ``PartitionedTransformerEncoder`` (Kitaev & Klein 2018, section 3):
features are split in content and position, which meet in attention's weights alone.

Legend: P positions of all sentences, D d_model, N heads, A half of d_kv, F half of d_ff; a run has
G sentences of T positions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import torch
import torch.nn.functional as F
from benepar.parse_chart import ChartParser
from benepar.partitioned_transformer import (
    PartitionedLinear,
    PartitionedMultiHeadAttention,
    PartitionedTransformerEncoderLayer,
)
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring sentences of equal length in a batch."""

    first_sentence: int
    num_sentences: int
    num_positions: int
    """Of each sentence."""
    first_position: int

    @property
    def sentences(self) -> slice:
        """Which of the batch's sentences these are."""
        return slice(self.first_sentence, self.first_sentence + self.num_sentences)

    @property
    def positions(self) -> slice:
        """Which of the batch's positions these are."""
        return slice(
            self.first_position, self.first_position + self.num_sentences * self.num_positions
        )


def equal_runs(num_positions: Sequence[int]) -> Iterator[Run]:
    """Yields the runs of equal numbers, given one number for each sentence."""
    sentence = position = 0
    for length, members in groupby(num_positions):
        count = len(list(members))
        yield Run(sentence, count, length, position)
        sentence += count
        position += count * length


class PackedTransformer:
    """The encoder of a chart parser with its weights laid out for large products."""

    def __init__(self, module: ChartParser, *, dtype: torch.dtype | None = None) -> None:
        """Takes the weights over as they are now; they may stand on any device.

        Args:
            module: a chart parser with an encoder.
            dtype: of products and attention; sums and norms keep that of the weights, which is the
                default.
        """
        self._timing = module.add_timing
        dtype = dtype or module.add_timing.timing_table.dtype
        self._layers = [_PackedLayer(layer, dtype) for layer in module.encoder.layers]

    def __call__(self, content_PC: Tensor, runs: Sequence[Run]) -> Tensor:
        """Returns every position's state, ``[P, D]``, its even features before its odd ones.

        Args:
            content_PC: the words' vectors, ``[P, D / 2]`` float, sentence marks included.
            runs: all sentences of the batch.
        """
        places = torch.cat([_places(run) for run in runs]).to(content_PC.device)
        timing = self._timing.timing_table.index_select(0, places)
        norm = self._timing.norm
        states_PD = _normalized(norm, torch.cat((content_PC, timing), -1))
        for layer in self._layers:
            states_PD = layer(states_PD, runs)
        # As benepar does: every fencepost shall get an even split of content and position features.
        return torch.cat((states_PD[:, 0::2], states_PD[:, 1::2]), -1)


class _PackedLayer:
    def __init__(self, layer: PartitionedTransformerEncoderLayer, dtype: torch.dtype) -> None:
        attention: PartitionedMultiHeadAttention = layer.self_attn
        self._norm_attn, self._norm_ff = layer.norm_attn, layer.norm_ff
        projections = [
            _projections(weight, attention.scaling_factor)
            for weight in (attention.w_qkv_c, attention.w_qkv_p)
        ]
        self._query = [query.to(dtype).contiguous() for query, _, _ in projections]
        self._key = [key.T.to(dtype).contiguous() for _, key, _ in projections]
        self._value = [value.to(dtype).contiguous() for _, _, value in projections]
        self._out = [
            weight.detach().flatten(0, 1).to(dtype) for weight in (attention.w_o_c, attention.w_o_p)
        ]
        self._widen, self._widen_bias = _linear(layer.linear1, dtype)
        self._narrow, narrow_bias = _linear(layer.linear2, dtype)
        self._narrow_bias = torch.cat(narrow_bias).to(layer.linear2.linear_c.bias.dtype)
        self._dtype = dtype
        self._num_heads = attention.w_qkv_c.shape[0]

    def __call__(self, states_PD: Tensor, runs: Sequence[Run]) -> Tensor:
        """Returns the next states; overwrites those given."""
        _add_products(states_PD, self._attend(states_PD, runs), self._out)
        states_PD = _normalized(self._norm_attn, states_PD)
        widened = [
            torch.addmm(bias, half, weight).relu_()
            for half, weight, bias in zip(
                self._operands(states_PD), self._widen, self._widen_bias, strict=True
            )
        ]
        _add_products(states_PD, widened, self._narrow)
        return _normalized(self._norm_ff, states_PD.add_(self._narrow_bias))

    def _operands(self, states_PD: Tensor) -> tuple[Tensor, ...]:
        return states_PD.to(self._dtype).chunk(2, -1)

    def _attend(self, states_PD: Tensor, runs: Sequence[Run]) -> Sequence[Tensor]:
        """Returns what positions gather from their sentences, both halves ``[P, N A]``."""
        num_positions, width = len(states_PD), self._key[0].shape[0]
        query, value, mixed = self._query[0].new_empty(3, num_positions, 2, width)
        key = query.new_empty(2, width, num_positions)
        for part, half in enumerate(self._operands(states_PD)):
            torch.mm(half, self._query[part], out=query[:, part])
            torch.mm(half, self._value[part], out=value[:, part])
            # Already turned: small products with a turned operand are three times slower.
            torch.mm(self._key[part], half.T, out=key[part])
        for run in runs:
            shape = run.num_sentences, run.num_positions
            by_position = [
                tensor[run.positions].view(*shape, 2, self._num_heads, -1)
                for tensor in (query, value, mixed)
            ]
            turned = key[:, :, run.positions].unflatten(-1, shape)
            _attend_within(*by_position, key=turned.unflatten(1, (self._num_heads, -1)))
        halves: Sequence[Tensor] = mixed.unbind(1)
        return halves


def _attend_within(query: Tensor, value: Tensor, out: Tensor, *, key: Tensor) -> None:
    """Writes softmax(q kᵀ) v for sentences of equal length into ``out``.

    Args:
        query: ``[G, T, 2, N, A]``.
        value: as ``query``.
        out: as ``query``.
        key: ``[2, N, A, G, T]``.
    """
    num_sentences, length, _, num_heads, _ = query.shape
    matrices = num_sentences * num_heads
    query = query.permute(0, 3, 1, 2, 4).reshape(matrices, length, -1)
    key = key.permute(3, 1, 0, 2, 4).reshape(matrices, -1, length)
    value = value.permute(0, 3, 1, 2, 4).reshape(matrices, length, -1)
    mixed = torch.bmm(torch.softmax(torch.bmm(query, key), -1), value)
    out.copy_(mixed.view(num_sentences, num_heads, length, 2, -1).permute(0, 2, 3, 1, 4))


def _places(run: Run) -> Tensor:
    return torch.arange(run.num_positions).repeat(run.num_sentences)


def _normalized(norm: torch.nn.LayerNorm, states: Tensor) -> Tensor:
    return F.layer_norm(states, norm.normalized_shape, norm.weight, norm.bias, norm.eps)


def _add_products(states_PD: Tensor, halves: Sequence[Tensor], weights: Sequence[Tensor]) -> None:
    """Adds a product to each half of the states, in place."""
    for half, operand, weight in zip(states_PD.chunk(2, -1), halves, weights, strict=True):
        if operand.dtype == half.dtype:
            half.addmm_(operand, weight)
        else:
            half.add_(operand @ weight)


def _projections(weight_NCKA: Tensor, scale: float) -> tuple[Tensor, Tensor, Tensor]:
    """Returns queries', keys' and values' weights, each ``[D / 2, N A]``, queries scaled."""
    query, key, value = weight_NCKA.detach().permute(2, 1, 0, 3).flatten(2)
    return query * scale, key, value


def _linear(layer: PartitionedLinear, dtype: torch.dtype) -> tuple[list[Tensor], list[Tensor]]:
    """Returns the weights and biases of both halves."""
    parts = layer.linear_c, layer.linear_p
    # Contiguous: MKL is up to a third faster than with a turned weight.
    weights = [part.weight.detach().T.to(dtype).contiguous() for part in parts]
    return weights, [part.bias.detach().to(dtype) for part in parts]
