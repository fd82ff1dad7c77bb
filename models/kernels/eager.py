"""The cells' steps in plain PyTorch, a block of rows at a time so that it stays in the cache.

Arguments and shapes: `models.kernels.cells.Cells`.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from models.kernels.cells import PairGradients, Pairs, PairStates

BLOCK_BYTES = 1 << 21
"""Of the widest buffer of a block. Measured at 256, 600 and 1200 wide with 32 MB of third-level
cache: a quarter of this costs 1 to 5 %, four times as much neither helps nor hurts."""

_sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
_tanh_backward = torch.ops.aten.tanh_backward.grad_input


def _blocks(tensor: Tensor) -> Iterator[slice]:
    """Yields the rows of a tensor in blocks; on a device other than the CPU all at once."""
    num_rows = len(tensor)
    step = num_rows
    if tensor.device.type == "cpu":
        step = max(8, BLOCK_BYTES // (tensor.shape[1] * tensor.element_size()))
    for start in range(0, num_rows, step or 1):
        yield slice(start, min(num_rows, start + step))


def _tanh_(values: Tensor) -> Tensor:
    """Applies tanh in place.

    In float32 as 2σ(2x) - 1, which PyTorch computes five times as fast on a CPU; differs from tanh
    by at most 1.2e-7.
    """
    if values.dtype == torch.float32 and values.device.type == "cpu":
        return values.mul_(2).sigmoid_().mul_(2).sub_(1)
    return values.tanh_()


class EagerCells:
    """Implements `models.kernels.cells.Cells`."""

    def lstm_forward(
        self, gates: Tensor, kept: Tensor | None, hidden: Tensor, memory: Tensor, squashed: Tensor
    ) -> None:
        """See `Cells`."""
        H = hidden.shape[1]
        for rows in _blocks(gates):
            block = gates[rows]
            block[:, : 2 * H].sigmoid_()
            i, o, u = block[:, :H], block[:, H : 2 * H], _tanh_(block[:, 2 * H :])
            c = torch.mul(i, u, out=memory[rows])
            if kept is not None:
                c.add_(kept[rows])
            _finish(o, c, hidden[rows], squashed[rows])

    def lstm_backward(
        self, gates: Tensor, squashed: Tensor, grad_hidden: Tensor, grad_memory: Tensor
    ) -> None:
        """See `Cells`."""
        H = squashed.shape[1]
        for rows in _blocks(gates):
            _gates_backward(
                gates[rows].split(H, 1), squashed[rows], grad_hidden[rows], grad_memory[rows]
            )

    def forget_forward(
        self,
        product: Tensor,
        forget: Tensor,
        memory: Tensor,
        children: Tensor | None,
        parents: Tensor,
        keep: Tensor,
        kept: Tensor,
    ) -> None:
        """See `Cells`."""
        for rows in _blocks(keep):
            block = keep[rows]
            torch.index_select(forget, 0, parents[rows], out=block)
            block.add_(_rows(product, children, rows)).sigmoid_()
            kept.index_add_(0, parents[rows], block * _rows(memory, children, rows))

    def forget_backward(
        self,
        keep: Tensor,
        memory: Tensor,
        children: Tensor | None,
        parents: Tensor,
        grad_kept: Tensor,
        grad_product: Tensor,
        grad_forget: Tensor,
        grad_memory: Tensor,
    ) -> None:
        """See `Cells`."""
        for rows in _blocks(keep):
            block = keep[rows]
            asked = grad_kept.index_select(0, parents[rows])
            passed = asked * block
            asked.mul_(_rows(memory, children, rows))
            if children is None:
                grad_memory[rows].add_(passed)
                grad = grad_product[rows]
                _sigmoid_backward(asked, block, grad_input=grad)
            else:
                grad_memory.index_add_(0, children[rows], passed)
                grad = _sigmoid_backward(asked, block, grad_input=asked)
                grad_product.index_add_(0, children[rows], grad)
            grad_forget.index_add_(0, parents[rows], grad)

    def pair_forward(
        self,
        gates: Tensor,
        left_product: Tensor,
        right_product: Tensor,
        pairs: Pairs,
        states: PairStates,
    ) -> None:
        """See `Cells`."""
        H = states.hidden.shape[1]
        hidden = states.hidden[states.first : states.last]
        memory = states.memory[states.first : states.last]
        squashed = states.squashed[states.first : states.last]
        for rows in _blocks(gates):
            block = gates[rows]
            torch.index_select(left_product, 0, pairs.left_operand[rows], out=block)
            block.add_(right_product.index_select(0, pairs.right_operand[rows]))
            block[:, : 2 * H].sigmoid_()
            block[:, 3 * H :].sigmoid_()
            i, o, u, f_1, f_2 = block.split(H, 1)
            c = torch.mul(i, _tanh_(u), out=memory[rows])
            c.addcmul_(f_1, states.memory.index_select(0, pairs.left_row[rows]))
            c.addcmul_(f_2, states.memory.index_select(0, pairs.right_row[rows]))
            _finish(o, c, hidden[rows], squashed[rows])

    def pair_backward(
        self, gates: Tensor, pairs: Pairs, states: PairStates, gradients: PairGradients
    ) -> None:
        """See `Cells`."""
        H = states.hidden.shape[1]
        nodes = slice(states.first, states.last)
        squashed, grad_hidden = states.squashed[nodes], gradients.hidden[nodes]
        grad_memory = gradients.memory[nodes]
        for rows in _blocks(gates):
            i, o, u, f_1, f_2 = gates[rows].split(H, 1)
            dc = grad_memory[rows]
            _gates_backward((i, o, u), squashed[rows], grad_hidden[rows], dc)
            for f, children in ((f_1, pairs.left_row[rows]), (f_2, pairs.right_row[rows])):
                gradients.memory.index_add_(0, children, dc * f)
                asked = states.memory.index_select(0, children).mul_(dc)
                _sigmoid_backward(asked, f, grad_input=f)

    def gru_forward(
        self, word_gates: Tensor, state_gates: Tensor, previous: Tensor, hidden: Tensor
    ) -> None:
        """See `Cells`."""
        H = hidden.shape[1]
        for rows in _blocks(word_gates):
            words, state = word_gates[rows], state_gates[rows]
            words[:, : 2 * H].add_(state[:, : 2 * H]).sigmoid_()
            r, z, n = words.split(H, 1)
            _tanh_(n.addcmul_(r, state[:, 2 * H :]))
            torch.lerp(n, previous[rows], z, out=hidden[rows])

    def gru_backward(
        self,
        word_gates: Tensor,
        state_gates: Tensor,
        previous: Tensor,
        grad_hidden: Tensor,
    ) -> None:
        """See `Cells`."""
        H = previous.shape[1]
        for rows in _blocks(word_gates):
            r, z, n = word_gates[rows].split(H, 1)
            m = state_gates[rows][:, 2 * H :]
            dh = grad_hidden[rows]
            dz = (previous[rows] - n).mul_(dh)
            through = dh * z  # what h gets by the interpolation
            dn = torch.sub(dh, through)
            _tanh_backward(dn, n, grad_input=n)
            _sigmoid_backward(dz, z, grad_input=z)
            torch.mul(n, r, out=dz)  # the gradient of m
            _sigmoid_backward(m.mul_(n), r, grad_input=r)
            m.copy_(dz)
            state_gates[rows][:, : 2 * H] = word_gates[rows][:, : 2 * H]
            dh.copy_(through)

    def add_rows(
        self, target: Tensor, target_rows: Tensor, source: Tensor, source_rows: Tensor | None
    ) -> None:
        """See `Cells`."""
        if source_rows is None:
            target.index_add_(0, target_rows, source)
            return
        step = max(8, BLOCK_BYTES // (source.shape[1] * source.element_size()))
        if source.device.type != "cpu":
            step = max(1, len(source_rows))
        for rows, into in zip(source_rows.split(step), target_rows.split(step), strict=True):
            target.index_add_(0, into, source.index_select(0, rows))


def _rows(source: Tensor, index: Tensor | None, rows: slice) -> Tensor:
    return source[rows] if index is None else source.index_select(0, index[rows])


def _finish(o: Tensor, c: Tensor, hidden: Tensor, squashed: Tensor) -> None:
    """Writes tanh(c) and h = o tanh(c)."""
    squashed.copy_(c)
    torch.mul(o, _tanh_(squashed), out=hidden)


def _gates_backward(
    gates: tuple[Tensor, ...], squashed: Tensor, grad_hidden: Tensor, grad_memory: Tensor
) -> None:
    """Overwrites σ(i), σ(o), tanh(u) by their arguments' gradients, ``grad_memory`` by c's."""
    i, o, u = gates
    asked = grad_hidden * o
    grad_memory.add_(_tanh_backward(asked, squashed, grad_input=asked))
    torch.mul(grad_hidden, squashed, out=asked)
    _sigmoid_backward(asked, o, grad_input=o)
    torch.mul(grad_memory, u, out=asked)
    update = grad_memory * i
    _sigmoid_backward(asked, i, grad_input=i)
    _tanh_backward(update, u, grad_input=u)
