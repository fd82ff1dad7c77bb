"""The element-wise steps of the recurrent cells, in plain PyTorch, and who computes them.

For any device and type; `triton_cells` has them as Triton kernels for CUDA. Both work in place on
buffers that the caller owns; here a block of rows at a time, so that it stays in the cache.

Buffers are of one floating-point type, but what many terms are added to (``kept``, ``target``, all
gradients of states, products and forget gates) is in float32 if the others are in bfloat16.

Legend: n nodes of one call, e edges of one call, R state rows, M inner rows, H hidden.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version

import torch
from torch import Tensor

LEAST_CAPABILITY = (8, 0)
"""CUDA compute capability that the kernels are meant for."""

OLDEST_TRITON = (3, 4)
"""Its atomic addition and its compiler's options are what the kernels use."""

BLOCK_BYTES = 1 << 21
"""Of the widest buffer of a block. Measured at 256, 600 and 1200 wide with 32 MB of third-level
cache: a quarter of this costs 1 to 5 %, four times as much neither helps nor hurts."""

_sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
_tanh_backward = torch.ops.aten.tanh_backward.grad_input


def cells_for(tensor: Tensor) -> Cells:
    """Returns the implementation for tensors like this one.

    On CUDA the Triton kernels, where Triton is installed and the device can run them; float64, in
    which nobody trains, stays with PyTorch.
    """
    is_meant = tensor.is_cuda and tensor.dtype in (torch.float32, torch.bfloat16)
    if is_meant and has_triton():
        from treeviews.models.encoders.triton_cells import FusedCells

        if torch.cuda.get_device_capability(tensor.device) >= LEAST_CAPABILITY:
            return FusedCells()
    return Cells()


@cache
def has_triton() -> bool:
    """Returns whether a Triton that can compile the kernels is installed; it is not imported."""
    try:
        major, minor = version("triton").split(".")[:2]
    except PackageNotFoundError:
        return False
    return (int(major), int(minor)) >= OLDEST_TRITON


class Cells:
    """Forward and backward steps; none allocates more than scratch space or returns anything.

    Each computes in the wider of the types it is given.
    """

    def lstm_forward(
        self, gates: Tensor, kept: Tensor | None, hidden: Tensor, memory: Tensor, squashed: Tensor
    ) -> None:
        """Computes c = σ(i) tanh(u) + kept and h = σ(o) tanh(c).

        Args:
            gates: [n, 3H]; i, o, u; overwritten by σ(i), σ(o), tanh(u).
            kept: [n, H]; what the children's forget gates let through; None for leaves.
            hidden: [n, H]; out, h.
            memory: [n, H]; out, c.
            squashed: [n, H]; out, tanh(c).
        """
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
        """Turns the gradients of h and c into those of i, o, u and of the kept memory.

        Args:
            gates: [n, 3H]; as `lstm_forward` left them; overwritten by their gradients.
            squashed: [n, H].
            grad_hidden: [n, H].
            grad_memory: [n, H]; what the parents ask of c; overwritten by c's whole gradient,
                which is the gradient of ``kept``, too.
        """
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
        """Adds keep * c of each edge's child to its parent, keep = σ(product + forget).

        Args:
            product: [n, H]; U^f h of the children's rows.
            forget: [M, H]; the words' part of the parents' forget gates.
            memory: [n, H]; c of the children's rows.
            children: [e] int64 rows of ``product``; None: one edge a row, in order.
            parents: [e] int64 rows of ``forget`` and ``kept``.
            keep: [e, H]; out.
            kept: [M, H]; added to.
        """
        for rows in _blocks(keep):
            block = keep[rows]
            torch.index_select(forget, 0, parents[rows], out=block)
            block.add_(_rows(product, children, rows)).sigmoid_()
            let_through = block * _rows(memory, children, rows)
            kept.index_add_(0, parents[rows], let_through.to(kept.dtype))

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
        """Takes the gradient of ``kept`` back to product, forget and the children's memory.

        Args:
            keep: [e, H]; as `forget_forward` left it.
            memory: [n, H].
            children: as there.
            parents: as there.
            grad_kept: [M, H].
            grad_product: [n, H]; added to; overwritten if ``children`` is None.
            grad_forget: [M, H]; added to.
            grad_memory: [n, H]; added to.
        """
        for rows in _blocks(keep):
            asked = grad_kept.index_select(0, parents[rows])
            block = keep[rows].to(asked.dtype)
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
        left_operand: Tensor,
        right_operand: Tensor,
        left_row: Tensor,
        right_row: Tensor,
        memory: Tensor,
        node_hidden: Tensor,
        node_memory: Tensor,
        node_squashed: Tensor,
    ) -> None:
        """Computes binary nodes from their children's products and memories.

        c = σ(i) tanh(u) + σ(f_1) c_left + σ(f_2) c_right and h = σ(o) tanh(c).

        Args:
            gates: [n, 5H]; out: σ(i), σ(o), tanh(u), σ(f_1), σ(f_2).
            left_product: [·, 5H]; U h of left children, with the bias.
            right_product: [·, 5H]; U h of right children.
            left_operand: [n] int64; row of the left products of each node's child.
            right_operand: [n] int64; likewise of the right ones.
            left_row: [n] int64; state row of each node's left child.
            right_row: [n] int64.
            memory: [R, H]; c of all rows, read at the children.
            node_hidden: [n, H]; out, h of the nodes; likewise c and tanh(c).
            node_memory: [n, H].
            node_squashed: [n, H].
        """
        H = node_hidden.shape[1]
        for rows in _blocks(gates):
            block = gates[rows]
            torch.index_select(left_product, 0, left_operand[rows], out=block)
            block.add_(right_product.index_select(0, right_operand[rows]))
            block[:, : 2 * H].sigmoid_()
            block[:, 3 * H :].sigmoid_()
            i, o, u, f_1, f_2 = block.split(H, 1)
            c = torch.mul(i, _tanh_(u), out=node_memory[rows])
            c.addcmul_(f_1, memory.index_select(0, left_row[rows]))
            c.addcmul_(f_2, memory.index_select(0, right_row[rows]))
            _finish(o, c, node_hidden[rows], node_squashed[rows])

    def pair_backward(
        self,
        gates: Tensor,
        left_row: Tensor,
        right_row: Tensor,
        memory: Tensor,
        node_squashed: Tensor,
        node_grad_hidden: Tensor,
        node_grad_memory: Tensor,
        grad_memory: Tensor,
    ) -> None:
        """Turns the gradients of the nodes' h and c into those of gates and children's memories.

        Args:
            gates: [n, 5H]; as `pair_forward` left them; overwritten by their gradients.
            left_row: as there, and likewise the next three.
            right_row: [n] int64.
            memory: [R, H].
            node_squashed: [n, H].
            node_grad_hidden: [n, H]; of the nodes' h.
            node_grad_memory: [n, H]; of their c.
            grad_memory: [R, H]; of all rows' c; added to at the children.
        """
        H = node_squashed.shape[1]
        for rows in _blocks(gates):
            i, o, u, f_1, f_2 = gates[rows].split(H, 1)
            dc = node_grad_memory[rows]
            _gates_backward((i, o, u), node_squashed[rows], node_grad_hidden[rows], dc)
            for f, children in ((f_1, left_row[rows]), (f_2, right_row[rows])):
                wide = f.to(dc.dtype)
                grad_memory.index_add_(0, children, dc * wide)
                asked = memory.index_select(0, children) * dc
                _sigmoid_backward(asked, wide, grad_input=wide)
                _keep_in(f, wide)

    def gru_forward(self, gates: Tensor, previous: Tensor, hidden: Tensor) -> None:
        """Computes h' = (1 - σ(z)) tanh(n + σ(r) m) + σ(z) h.

        Args:
            gates: [n, 4H]; n, r, z, m; overwritten by the tanh, σ(r), σ(z), m.
            previous: [n, H]; h.
            hidden: [n, H]; out, h'.
        """
        H = hidden.shape[1]
        for rows in _blocks(gates):
            block = gates[rows]
            block[:, H : 3 * H].sigmoid_()
            n, r, z, m = block.split(H, 1)
            _tanh_(n.addcmul_(r, m))
            torch.lerp(n, previous[rows], z, out=hidden[rows])

    def gru_backward(self, gates: Tensor, previous: Tensor, grad_hidden: Tensor) -> None:
        """Turns the gradient of h' into those of all gates and of h by way of the interpolation.

        Args:
            gates: [n, 4H]; as `gru_forward` left them; overwritten by the gradients of n, r, z, m.
            previous: [n, H].
            grad_hidden: [n, H]; gradient of h'; overwritten by its part σ(z) for h.
        """
        H = previous.shape[1]
        for rows in _blocks(gates):
            n, r, z, m = gates[rows].split(H, 1)
            dh = grad_hidden[rows]
            grad = (previous[rows] - n).mul_(dh)  # of σ(z)
            of_tanh = torch.addcmul(dh, dh, z, value=-1)
            dh.mul_(z)
            _sigmoid_backward(grad, z, grad_input=z)
            _tanh_backward(of_tanh, n, grad_input=n)
            torch.mul(n, m, out=grad)  # of σ(r)
            torch.mul(n, r, out=m)
            _sigmoid_backward(grad, r, grad_input=r)

    def add_rows(
        self, target: Tensor, target_rows: Tensor, source: Tensor, source_rows: Tensor | None
    ) -> None:
        """Adds ``source[source_rows[k]]`` to ``target[target_rows[k]]`` for each k.

        Args:
            target: [·, W].
            target_rows: [e] int64; rows may repeat.
            source: [·, W].
            source_rows: [e] int64; None: all rows in order.
        """
        for rows in _blocks(target_rows, width=source.shape[1]):
            added = _rows(source, source_rows, rows)
            target.index_add_(0, target_rows[rows], added.to(target.dtype))


def _blocks(tensor: Tensor, *, width: int | None = None) -> Iterator[slice]:
    """Yields the rows of a tensor in blocks; on a device other than the CPU all at once.

    Args:
        width: of the rows that an index tensor stands for.
    """
    num_rows = len(tensor)
    step = num_rows
    if tensor.device.type == "cpu":
        row_bytes = 4 * width if width else tensor.shape[1] * tensor.element_size()
        step = max(8, BLOCK_BYTES // row_bytes)
    for start in range(0, num_rows, step or 1):
        yield slice(start, min(num_rows, start + step))


def _tanh_(values: Tensor) -> Tensor:
    """Applies tanh in place.

    In float32 as 2σ(2x) - 1, which PyTorch computes four times as fast on a CPU. Differs from tanh
    by less than 2e-7, which for small values is much of them: 1e-5 of 0.01, 1e-4 of 0.001.
    """
    if values.dtype == torch.float32 and values.device.type == "cpu":
        return values.mul_(2).sigmoid_().mul_(2).sub_(1)
    return values.tanh_()


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
    wide = [gate.to(grad_memory.dtype) for gate in gates]  # themselves, unless in bfloat16
    i, o, u = wide
    squashed = squashed.to(grad_memory.dtype)
    asked = grad_hidden * o
    grad_memory.add_(_tanh_backward(asked, squashed, grad_input=asked))
    torch.mul(grad_hidden, squashed, out=asked)
    _sigmoid_backward(asked, o, grad_input=o)
    torch.mul(grad_memory, u, out=asked)
    update = grad_memory * i
    _sigmoid_backward(asked, i, grad_input=i)
    _tanh_backward(update, u, grad_input=u)
    for gate, gradient in zip(gates, wide, strict=True):
        _keep_in(gate, gradient)


def _keep_in(place: Tensor, value: Tensor) -> None:
    """Writes a value that was computed in a wider type than its place has."""
    if value.dtype != place.dtype:
        place.copy_(value)
