"""The element-wise steps of the recurrent cells, as every implementation of them offers them.

`eager` has them in plain PyTorch, for any device and type; `fused` has them as Triton kernels for
CUDA. Both work in place on buffers that the caller owns.

Buffers are of one floating-point type, but what many terms are added to (``kept``, ``target``, all
gradients of states, products and forget gates) is in float32 if the others are in bfloat16.

Legend: n nodes of one call, e edges of one call, R state rows, M inner rows, H hidden.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor


class Cells(Protocol):
    """Forward and backward steps; none allocates more than scratch space or returns anything."""

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
        ...

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
        ...

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
        ...

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
        ...

    def pair_forward(
        self,
        gates: Tensor,
        left_product: Tensor,
        right_product: Tensor,
        pairs: Pairs,
        states: PairStates,
    ) -> None:
        """Computes binary nodes from their children's products and memories.

        c = σ(i) tanh(u) + σ(f_1) c_left + σ(f_2) c_right and h = σ(o) tanh(c).

        Args:
            gates: [n, 5H]; out: σ(i), σ(o), tanh(u), σ(f_1), σ(f_2).
            left_product: [·, 5H]; U h of left children, with the bias.
            right_product: [·, 5H]; U h of right children.
            pairs: each node's children.
            states: read at the children, written at the nodes.
        """
        ...

    def pair_backward(
        self, gates: Tensor, pairs: Pairs, states: PairStates, gradients: PairGradients
    ) -> None:
        """Turns the gradients of the nodes' h and c into those of gates and children's memories.

        Args:
            gates: [n, 5H]; as `pair_forward` left them; overwritten by their gradients.
            pairs: as there.
            states: as there.
            gradients: h and c of the nodes read; c of the children added to.
        """
        ...

    def gru_forward(self, gates: Tensor, previous: Tensor, hidden: Tensor) -> None:
        """Computes h' = (1 - σ(z)) tanh(n + σ(r) m) + σ(z) h.

        Args:
            gates: [n, 4H]; n, r, z, m; overwritten by the tanh, σ(r), σ(z), m.
            previous: [n, H]; h.
            hidden: [n, H]; out, h'.
        """
        ...

    def gru_backward(self, gates: Tensor, previous: Tensor, grad_hidden: Tensor) -> None:
        """Turns the gradient of h' into those of all gates and of h by way of the interpolation.

        Args:
            gates: [n, 4H]; as `gru_forward` left them; overwritten by the gradients of n, r, z, m.
            previous: [n, H].
            grad_hidden: [n, H]; gradient of h'; overwritten by its part σ(z) for h.
        """
        ...

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
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """The children of n binary nodes, [n] int64 each."""

    left_operand: Tensor
    """Rows of the left products; likewise of the right ones."""
    right_operand: Tensor
    left_row: Tensor
    """State rows."""
    right_row: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class PairStates:
    """States of all rows, [R, H] each; the nodes of a call are the rows ``first:last``."""

    hidden: Tensor
    memory: Tensor
    squashed: Tensor
    first: int
    last: int


@dataclass(frozen=True, slots=True, eq=False)
class PairGradients:
    """Gradients of all rows' states, [R, H] each."""

    hidden: Tensor
    memory: Tensor
