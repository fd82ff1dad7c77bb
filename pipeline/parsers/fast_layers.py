"""What costs most in both parsers, with less work: products, LSTMs, words, batches.

**Products with a weight that never changes**, in the library that is fastest on this machine. Torch
multiplies float32 by MKL, which uses no AVX-512 on processors of AMD and reached 95 GFLOPS a core
where oneDNN's reached 220 (AMD EPYC 9005). oneDNN, which bfloat16 uses everywhere, compiles its
code anew for every shape, at ten times the cost of a product; so it gets rows by the block, always
as many. Legend: R rows, K their features, N features of the product.

**A bidirectional LSTM layer** over padded sequences, one fused call per direction (Hochreiter &
Schmidhuber 1997; gates in torch's order). supar's own layer steps through time in Python and packs
its input; the weights and results are the same. Legend: T positions, B sequences, D input features,
H hidden features of one direction.

**Vectors that words get from their spelling** alone, each computed once and kept.

**Batches of sentences of like length**, of which little or nothing is padding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treeviews.pipeline.base.machine import mkl_is_fast

BLOCK_ROWS = 256
"""Enough rows at once for oneDNN's full speed, few enough to stay in a core's cache."""

_WORDS_AT_ONCE, _LONG_WORDS_AT_ONCE = 256, 32
_LONG_WIDTH = 24
ReadWords = Callable[[list[str], int], Tensor]
"""Returns the vectors ``[Y, D]`` of Y words in an array so many characters wide."""


def words_at_once(width: int) -> int:
    """Returns how many words are read at a time in an array so wide, always: of long ones fewer.

    They are rare, so most places of a larger array would stay empty.
    """
    return _WORDS_AT_ONCE if width < _LONG_WIDTH else _LONG_WORDS_AT_ONCE


class FixedProduct:
    """Multiplies rows with a weight ``[K, N]``, by turns of one library and one block size."""

    def __init__(
        self,
        weight_KN: Tensor,
        bias_N: Tensor | None = None,
        *,
        block_rows: int = BLOCK_ROWS,
    ) -> None:
        """Takes the values over as they are now, on whichever device they stand.

        Args:
            block_rows: how many oneDNN gets at once; fewer are multiplied as torch does it.
        """
        # Contiguous: MKL is up to a third faster than with a turned weight.
        self._weight = weight_KN.detach().clone(memory_format=torch.contiguous_format)
        self._bias = None if bias_N is None else bias_N.detach().clone()
        self._block_rows = block_rows
        self._packed = _packed(self._weight, block_rows)

    def __call__(self, rows_RK: Tensor, *, rectified: bool = False) -> Tensor:
        """Returns ``[R, N]``: rows times weight, plus bias; negatives are 0 if rectified."""
        if not self._is_blocked(rows_RK):
            products = self._by_torch(rows_RK)
        elif len(rows_RK) == self._block_rows:
            products = self._block(rows_RK)
        else:
            products = rows_RK.new_empty(len(rows_RK), self._weight.shape[1])
            self.write(rows_RK, products)
        # Not within oneDNN's product, which makes 0 of what is no number.
        return products.relu_() if rectified else products

    def write(self, rows_RK: Tensor, out: Tensor) -> None:
        """Writes rows times weight, plus bias, into a view of R rows, of N numbers each."""
        # By the block on any CPU: what a product wrote is still in the cache when it is moved.
        at_once = self._block_rows if rows_RK.device.type == "cpu" else max(len(rows_RK), 1)
        is_blocked = self._is_blocked(rows_RK)
        for rows, place in zip(rows_RK.split(at_once), out.split(at_once), strict=True):
            products = self._filled_up(rows) if is_blocked else self._by_torch(rows)
            place.copy_(products.view(place.shape))

    def _is_blocked(self, rows_RK: Tensor) -> bool:
        return self._packed is not None and len(rows_RK) >= self._block_rows

    def _by_torch(self, rows_RK: Tensor) -> Tensor:
        weight, bias = self._weight, self._bias
        return rows_RK @ weight if bias is None else torch.addmm(bias, rows_RK, weight)

    def _filled_up(self, rows_RK: Tensor) -> Tensor:
        missing = self._block_rows - len(rows_RK)
        block = F.pad(rows_RK, (0, 0, 0, missing)) if missing else rows_RK
        return self._block(block)[: len(rows_RK)]

    def _block(self, rows_RK: Tensor) -> Tensor:
        products: Tensor = torch.ops.mkldnn._linear_pointwise(
            rows_RK, self._packed, self._bias, "none", [], ""
        )
        return products


def _packed(weight_KN: Tensor, block_rows: int) -> Tensor | None:
    """Returns the weight laid out for oneDNN, or None where torch's own product is as fast."""
    # An operator of torch's compiler; a torch without it multiplies by MKL.
    has_onednn = torch.backends.mkldnn.is_available() and hasattr(
        torch.ops.mkldnn, "_linear_pointwise"
    )
    if weight_KN.device.type != "cpu" or not has_onednn:
        return None
    is_faster = {
        torch.bfloat16: torch.ops.mkldnn._is_mkldnn_bf16_supported(),
        torch.float32: not mkl_is_fast(),
    }
    if not is_faster.get(weight_KN.dtype, False):
        return None
    packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight_KN.T.contiguous(), block_rows)
    return packed


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


class WordCache:
    """Remembers the vectors of the words of earlier batches, up to a number of words.

    Words are always read in arrays of the same shapes: a matrix product rounds its last bits by
    its shape, and a word's vector must not depend on which words were read before.
    """

    def __init__(self, read: ReadWords, *, table: Tensor, widths: Sequence[int]) -> None:
        """Starts empty.

        Args:
            read: its answer for a word must not depend on the others.
            table: ``[capacity, D]``, overwritten; its device is the vectors'. One that was written
                to takes its memory now rather than page by page over a corpus.
            widths: ascending; a word stands in an array of the first width that it fits, and by
                as many characters as the last one has.
        """
        self._read, self._table, self._widths = read, table, widths
        self._rows: dict[str, int] = {}

    def __len__(self) -> int:
        """Returns the number of words that are kept."""
        return len(self._rows)

    def remember(self, words: Iterable[str]) -> None:
        """Reads those words that are missing and have room."""
        missing = self._missing(words)
        self._fill(missing[: len(self._table) - len(self._rows)])

    def vectors(self, words: Sequence[str]) -> Tensor:
        """Returns ``[len(words), D]``, also of repeated words; a full cache is emptied first.

        Raises:
            ValueError: more distinct words than the cache has room for.
        """
        missing = self._missing(words)
        if len(self._rows) + len(missing) > len(self._table):
            self._rows.clear()
            missing = self._missing(words)
            if len(missing) > len(self._table):
                raise ValueError(f"{len(missing)} distinct words in a cache of {len(self._table)}")
        self._fill(missing)
        rows = torch.tensor([self._rows[word] for word in words], device=self._table.device)
        return self._table.index_select(0, rows)

    def _missing(self, words: Iterable[str]) -> list[str]:
        return [word for word in dict.fromkeys(words) if word not in self._rows]

    def _fill(self, words: Sequence[str]) -> None:
        shorter = -1
        for width in self._widths:
            is_last = width == self._widths[-1]
            group = [w for w in words if shorter < len(w) and (is_last or len(w) <= width)]
            shorter = width
            at_once = words_at_once(width)
            for start in range(0, len(group), at_once):
                self._store(group[start : start + at_once], width)

    def _store(self, words: list[str], width: int) -> None:
        filled = words + words[:1] * (words_at_once(width) - len(words))
        vectors = self._read([word[: self._widths[-1]] for word in filled], width)
        first = len(self._rows)
        self._table[first : first + len(words)] = vectors[: len(words)]
        self._rows.update({word: first + row for row, word in enumerate(words)})


def length_batches(
    lengths: Sequence[int], *, max_tokens: int, is_padded: bool = True
) -> list[list[int]]:
    """Returns the sentences' positions, shortest first, cut into batches.

    Args:
        lengths: tokens of each sentence.
        max_tokens: bound of a batch's padded size, the artificial root counted in each sentence,
            or of the sum of lengths where nothing is padded; a longer sentence stands alone.
    """
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    sizes = [length + is_padded for length in lengths]
    return cut_batches(order, sizes, max_tokens, is_padded=is_padded)


def shuffled_length_batches(
    lengths: Sequence[int], *, max_tokens: int, random: np.random.Generator
) -> list[list[int]]:
    """Returns batches as ``length_batches``, their order and membership shuffled.

    Sentences are ordered by a length blurred by a tenth, so that each epoch mixes them anew.
    """
    blurred = np.asarray(lengths) * random.uniform(0.9, 1.1, size=len(lengths))
    order = [int(position) for position in np.argsort(blurred, kind="stable")]
    batches = cut_batches(order, [length + 1 for length in lengths], max_tokens)
    return [batches[position] for position in random.permutation(len(batches))]


def cut_batches(
    order: Sequence[int], sizes: Sequence[int], max_tokens: int, *, is_padded: bool = True
) -> list[list[int]]:
    """Returns positions in their order, cut into batches.

    Args:
        sizes: what each sentence takes of a batch, by position.
        max_tokens: bound of a batch's size; a larger sentence stands alone.
        is_padded: whether all of a batch take as much as the largest, or else each its own.
    """
    batches: list[list[int]] = []
    taken = widest = 0
    for position in order:
        taken, widest = taken + sizes[position], max(widest, sizes[position])
        size = (len(batches[-1]) + 1) * widest if batches and is_padded else taken
        if not batches or size > max_tokens:
            batches.append([])
            taken = widest = sizes[position]
        batches[-1].append(position)
    return batches
