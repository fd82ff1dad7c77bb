"""h~, what a Child-Sum cell sums of its children, by addition or by attention.

Equations: `models.encoders.child_sum`. Rows: `models.schedules.dependency`.

Legend: K leaves, F fringe, C core, M = F + C inner rows, S sum rows, e edges of one call, H hidden.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from models.functions.buffers import Lease
from models.kernels.cells import Cells
from models.schedules import DependencySchedule


class ChildSums(Protocol):
    """Sums on the way up; on the way down the gradients of what was summed.

    The calls come in the order leaves, fringe, levels of the core, and back in the reverse order.
    """

    def add_leaves(self, hidden: Tensor) -> None:
        """Adds the leaves' states [K, H] to their parents' sums."""
        ...

    def add_fringe(self, hidden: Tensor) -> None:
        """Adds the fringe's states [F, H] to their parents' sums."""
        ...

    def add_level(self, hidden: Tensor, level: slice) -> None:
        """Adds the states [e, H] of a level of the core, ``level`` of its nodes."""
        ...

    def multiply_fringe(self, gates: Tensor) -> None:
        """Adds U h~ to the fringe's gates [F, 3H]."""
        ...

    def multiply_level(self, gates: Tensor, level: slice) -> None:
        """Adds U h~ to the gates [e, 3H] of a level of the core."""
        ...

    def level_backward(self, grad_gates: Tensor, level: slice) -> None:
        """Takes in the gradient of a level's gates, [e, 3H]."""
        ...

    def fringe_backward(self, grad_gates: Tensor) -> None:
        """Takes in the gradient of the fringe's gates, [F, 3H]."""
        ...

    def grad_of_level(self, hidden: Tensor, level: slice, out: Tensor) -> None:
        """Writes the gradient of a level's states to ``out`` [e, H]; its parents' must be in."""
        ...

    def grad_of_fringe(self, hidden: Tensor, out: Tensor) -> None:
        """Adds the gradient of the fringe's states to ``out`` [F, H]."""
        ...

    def grad_of_leaves(self, hidden: Tensor, out: Tensor) -> None:
        """Adds the gradient of the leaves' states to ``out`` [K, H]."""
        ...

    def grad_of_weight(self, grad_gates: Tensor) -> Tensor:
        """Returns the gradient of U, [3H, H], from that of all inner gates, [M, 3H]."""
        ...

    def grad_of_query(self) -> Tensor | None:
        """Returns the gradient of the inner nodes' queries, [M, H], if there are any."""
        ...


class AddedSums:
    """h~ as published, Σ h_k: one sum and one product for each distinct multiset of leaves."""

    def __init__(
        self, schedule: DependencySchedule, weight: Tensor, lease: Lease, cells: Cells
    ) -> None:
        """Args: weight: U, [3H, H]."""
        self._schedule = schedule
        self._weight = weight
        self._lease = lease
        self._cells = cells
        self._num_shared = schedule.num_fringe_sums
        self._sums = lease.zeros("sums", schedule.num_sums, weight.shape[1])
        self._core = self._sums[self._num_shared :]
        self._grad: Tensor | None = None
        self._grad_products: Tensor | None = None

    def add_leaves(self, hidden: Tensor) -> None:
        """See `ChildSums`."""
        rows, parents = self._schedule.leaf_to_sum
        self._cells.add_rows(self._sums, parents, hidden, rows)

    def add_fringe(self, hidden: Tensor) -> None:
        """See `ChildSums`."""
        rows, parents = self._schedule.fringe_to_core
        self._cells.add_rows(self._core, parents, hidden, rows)

    def add_level(self, hidden: Tensor, level: slice) -> None:
        """See `ChildSums`."""
        self._cells.add_rows(self._core, self._schedule.core_parents[level], hidden, None)

    def multiply_fringe(self, gates: Tensor) -> None:
        """See `ChildSums`."""
        out = self._lease.empty("products", self._num_shared, gates.shape[1])
        products = torch.mm(self._sums[: self._num_shared], self._weight.T, out=out)
        gates.add_(products.index_select(0, self._schedule.fringe_sums))

    def multiply_level(self, gates: Tensor, level: slice) -> None:
        """See `ChildSums`."""
        gates.addmm_(self._core[level], self._weight.T)

    def _grad_sums(self) -> Tensor:
        if self._grad is None:
            self._grad = self._lease.empty("grad_sums", *self._sums.shape)
        return self._grad

    def level_backward(self, grad_gates: Tensor, level: slice) -> None:
        """See `ChildSums`."""
        out = self._grad_sums()[self._num_shared :][level]
        torch.mm(grad_gates, self._weight, out=out)

    def fringe_backward(self, grad_gates: Tensor) -> None:
        """See `ChildSums`."""
        products = self._lease.zeros("grad_products", self._num_shared, grad_gates.shape[1])
        products.index_add_(0, self._schedule.fringe_sums, grad_gates)
        torch.mm(products, self._weight, out=self._grad_sums()[: self._num_shared])
        self._grad_products = products

    def grad_of_level(self, hidden: Tensor, level: slice, out: Tensor) -> None:
        """See `ChildSums`."""
        parents = self._schedule.core_parents[level]
        torch.index_select(self._grad_sums()[self._num_shared :], 0, parents, out=out)

    def grad_of_fringe(self, hidden: Tensor, out: Tensor) -> None:
        """See `ChildSums`."""
        rows, parents = self._schedule.fringe_to_core
        self._cells.add_rows(out, rows, self._grad_sums()[self._num_shared :], parents)

    def grad_of_leaves(self, hidden: Tensor, out: Tensor) -> None:
        """See `ChildSums`."""
        rows, parents = self._schedule.leaf_to_sum
        self._cells.add_rows(out, rows, self._grad_sums(), parents)

    def grad_of_weight(self, grad_gates: Tensor) -> Tensor:
        """See `ChildSums`."""
        core = grad_gates[self._schedule.num_fringe :]
        if self._grad_products is None:
            return torch.mm(core.T, self._core)
        grad = torch.mm(self._grad_products.T, self._sums[: self._num_shared])
        return grad.addmm_(core.T, self._core)

    def grad_of_query(self) -> Tensor | None:
        """Returns None: nothing is asked."""
        return None


class AttendedSums:
    """h~ as a mean by attention: α_jk = softmax over the children k of j of cos(q_j, h_k).

    The cosine is bounded, so the softmax needs no maximum and children can be added in any order.
    Element-wise steps are plain PyTorch on every device.
    """

    def __init__(self, schedule: DependencySchedule, weight: Tensor, query: Tensor) -> None:
        """Args: weight: U, [3H, H]; query: [M, H], q of the inner nodes."""
        self._schedule = schedule
        self._weight = weight
        self._query_norm = _norm(query)
        self._query = query / self._query_norm
        self._sums = torch.zeros_like(query)
        self._totals = query.new_zeros(len(query), 1)
        self._grad = torch.empty_like(query)
        self._grad_query = torch.zeros_like(query)

    def add_leaves(self, hidden: Tensor) -> None:
        """See `ChildSums`."""
        self._add(hidden, *self._schedule.leaf_to_inner)

    def add_fringe(self, hidden: Tensor) -> None:
        """See `ChildSums`."""
        rows, parents = self._schedule.fringe_to_core
        self._add(hidden, rows, parents + self._schedule.num_fringe)

    def add_level(self, hidden: Tensor, level: slice) -> None:
        """See `ChildSums`."""
        self._add(hidden, None, self._parents(level))

    def multiply_fringe(self, gates: Tensor) -> None:
        """See `ChildSums`."""
        self._multiply(gates, slice(0, self._schedule.num_fringe))

    def multiply_level(self, gates: Tensor, level: slice) -> None:
        """See `ChildSums`."""
        self._multiply(gates, self._inner(level))

    def level_backward(self, grad_gates: Tensor, level: slice) -> None:
        """See `ChildSums`."""
        torch.mm(grad_gates, self._weight, out=self._grad[self._inner(level)])

    def fringe_backward(self, grad_gates: Tensor) -> None:
        """See `ChildSums`."""
        torch.mm(grad_gates, self._weight, out=self._grad[: self._schedule.num_fringe])

    def grad_of_level(self, hidden: Tensor, level: slice, out: Tensor) -> None:
        """See `ChildSums`."""
        out.copy_(self._grad_of(hidden, self._parents(level)))

    def grad_of_fringe(self, hidden: Tensor, out: Tensor) -> None:
        """See `ChildSums`."""
        rows, parents = self._schedule.fringe_to_core
        grad = self._grad_of(hidden[rows], parents + self._schedule.num_fringe)
        out.index_add_(0, rows, grad)

    def grad_of_leaves(self, hidden: Tensor, out: Tensor) -> None:
        """See `ChildSums`."""
        rows, parents = self._schedule.leaf_to_inner
        out.index_add_(0, rows, self._grad_of(hidden[rows], parents))

    def grad_of_weight(self, grad_gates: Tensor) -> Tensor:
        """See `ChildSums`."""
        return torch.mm(grad_gates.T, self._sums)

    def grad_of_query(self) -> Tensor | None:
        """See `ChildSums`."""
        along = (self._grad_query * self._query).sum(1, keepdim=True)
        return (self._grad_query - along * self._query) / self._query_norm

    def _inner(self, level: slice) -> slice:
        first = self._schedule.num_fringe
        return slice(first + level.start, first + level.stop)

    def _parents(self, level: slice) -> Tensor:
        return self._schedule.core_parents[level] + self._schedule.num_fringe

    def _add(self, hidden: Tensor, rows: Tensor | None, parents: Tensor) -> None:
        children = hidden if rows is None else hidden[rows]
        weight, _ = self._weights(children, parents)
        self._sums.index_add_(0, parents, weight * children)
        self._totals.index_add_(0, parents, weight)

    def _weights(self, children: Tensor, parents: Tensor) -> tuple[Tensor, Tensor]:
        """Returns exp cos of each edge, [e, 1], and the children's directions, [e, H]."""
        direction = children / _norm(children)
        cosine = (self._query[parents] * direction).sum(1, keepdim=True)
        return cosine.exp(), direction

    def _multiply(self, gates: Tensor, inner: slice) -> None:
        mean = self._sums[inner].div_(self._totals[inner])
        gates.addmm_(mean, self._weight.T)

    def _grad_of(self, children: Tensor, parents: Tensor) -> Tensor:
        """Returns the gradient of each edge's child, [e, H], and adds to the queries'."""
        weight, direction = self._weights(children, parents)
        share = weight / self._totals[parents]
        asked = self._grad[parents]
        grad_cosine = share * (asked * (children - self._sums[parents])).sum(1, keepdim=True)
        self._grad_query.index_add_(0, parents, grad_cosine * direction)
        turned = grad_cosine * self._query[parents]
        along = (turned * direction).sum(1, keepdim=True)
        return share * asked + (turned - along * direction) / _norm(children)


def _norm(rows: Tensor) -> Tensor:
    """Returns the rows' lengths, [·, 1]; never zero."""
    smallest = torch.finfo(rows.dtype).tiny
    lengths: Tensor = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
    return lengths.clamp(min=smallest)
