"""h~, what a Child-Sum cell sums of its children, by addition or by attention.

Equations: `models.encoders.child_sum_tree_lstm`. Rows and groups:
`models.encoders.dependency_schedule`.

Legend: M inner rows, S sum rows, n nodes of a group, e edges of a group, H hidden.
"""

from __future__ import annotations

import torch
from torch import Tensor

from treeviews.models.encoders.buffer_pool import Lease, add_product, write_product
from treeviews.models.encoders.cell_steps import Cells
from treeviews.models.encoders.dependency_schedule import DependencySchedule, Edges, NodeGroup


class AddedSums:
    """h~ as published, Σ h_k: one sum and one product for each distinct multiset of leaves.

    Sums on the way up, in the order of the groups; gradients on the way down, in reverse.
    """

    def __init__(
        self, schedule: DependencySchedule, weight: Tensor, lease: Lease, cells: Cells
    ) -> None:
        """Args: weight: U, [3H, H]."""
        self._num_fringe = schedule.num_fringe
        self._num_shared = schedule.num_fringe_sums
        self._weight = weight
        self._lease = lease
        self._cells = cells
        self._sums = lease.total("sums", schedule.num_sums, weight.shape[1])
        self._grad: Tensor | None = None
        self._grad_products: Tensor | None = None

    def add(self, hidden: Tensor, edges: Edges) -> None:
        """Adds a group's states [n, H] to their parents' sums."""
        sums = self._sums[edges.first_sum :]
        self._cells.add_rows(sums, edges.sum_parents, hidden, edges.sum_children)

    def multiply(self, gates: Tensor, group: NodeGroup) -> None:
        """Adds U h~ to a group's gates [n, 3H]."""
        sums = self._sums[group.sums]
        if group.sum_of_node is None:
            add_product(gates, sums, self._weight.T)
        else:
            out = self._lease.empty("products", len(sums), gates.shape[1])
            write_product(out, sums, self._weight.T)
            gates.add_(out.index_select(0, group.sum_of_node))

    def multiply_backward(self, grad_gates: Tensor, group: NodeGroup) -> None:
        """Takes in the gradient of a group's gates, [n, 3H]."""
        if self._grad is None:
            self._grad = self._lease.empty("grad_sums", *self._sums.shape)
        grad = self._grad[group.sums]
        if group.sum_of_node is not None:
            products = self._lease.total("grad_products", len(grad), grad_gates.shape[1])
            self._cells.add_rows(products, group.sum_of_node, grad_gates, None)
            self._grad_products = grad_gates = products
        write_product(grad, grad_gates, self._weight)

    def add_backward(self, hidden: Tensor, edges: Edges, grad_hidden: Tensor) -> None:
        """Adds to the gradient of a group's states [n, H] what their parents' sums ask."""
        assert self._grad is not None, "the parents come first"
        grad = self._grad[edges.first_sum :]
        if edges.sum_children is None:
            grad_hidden.add_(grad.index_select(0, edges.sum_parents))
        else:
            self._cells.add_rows(grad_hidden, edges.sum_children, grad, edges.sum_parents)

    def grad_of_weight(self, grad_gates: Tensor) -> Tensor:
        """Returns the gradient of U, [3H, H], from that of all inner gates, [M, 3H]."""
        core = grad_gates[self._num_fringe :]
        sums = self._sums.to(grad_gates.dtype)
        if self._grad_products is None:
            return torch.mm(core.T, sums)
        shared, own = sums.split([self._num_shared, len(core)])
        grad_products = self._grad_products.to(grad_gates.dtype)
        return torch.mm(grad_products.T, shared).addmm_(core.T, own)

    def grad_of_query(self) -> Tensor | None:
        """Returns None: nothing is asked."""
        return None


class AttendedSums:
    """h~ as a mean by attention: α_jk = softmax over the children k of j of cos(q_j, h_k).

    The cosine is bounded, so the softmax needs no maximum and children can be added in any order.
    A vector of zeros (an unknown word's q, its h while biases are zero) has no direction: its
    cosine is 0 and so is its gradient. Element-wise steps are plain PyTorch on every device.
    """

    def __init__(self, weight: Tensor, query: Tensor) -> None:
        """Args: weight: U, [3H, H]; query: [M, H], q of the inner nodes."""
        self._weight = weight
        wide = query.float() if query.dtype == torch.bfloat16 else query
        self._query, self._query_scale = _directions(wide)
        self._sums = torch.zeros_like(wide)
        self._totals = wide.new_zeros(len(wide), 1)
        self._grad = torch.empty_like(wide)
        self._grad_query = torch.zeros_like(wide)

    def add(self, hidden: Tensor, edges: Edges) -> None:
        """See `AddedSums`."""
        children, parents = self._ends(hidden, edges)
        weight, _, _ = self._weights(children, parents)
        self._sums.index_add_(0, parents, weight * children)
        self._totals.index_add_(0, parents, weight)

    def multiply(self, gates: Tensor, group: NodeGroup) -> None:
        """See `AddedSums`."""
        mean = self._sums[group.inner].div_(self._totals[group.inner])
        add_product(gates, mean, self._weight.T)

    def multiply_backward(self, grad_gates: Tensor, group: NodeGroup) -> None:
        """See `AddedSums`."""
        write_product(self._grad[group.inner], grad_gates, self._weight)

    def add_backward(self, hidden: Tensor, edges: Edges, grad_hidden: Tensor) -> None:
        """See `AddedSums`."""
        children, parents = self._ends(hidden, edges)
        weight, direction, scale = self._weights(children, parents)
        share = weight / self._totals[parents]
        asked = self._grad[parents]
        grad_cosine = share * (asked * (children - self._sums[parents])).sum(1, keepdim=True)
        self._grad_query.index_add_(0, parents, grad_cosine * direction)
        turned = grad_cosine * self._query[parents]
        along = (turned * direction).sum(1, keepdim=True)
        grad = share * asked + (turned - along * direction) * scale
        if edges.children is None:
            grad_hidden.add_(grad)
        else:
            grad_hidden.index_add_(0, edges.children, grad.to(grad_hidden.dtype))

    def grad_of_weight(self, grad_gates: Tensor) -> Tensor:
        """See `AddedSums`."""
        return torch.mm(grad_gates.T, self._sums.to(grad_gates.dtype))

    def grad_of_query(self) -> Tensor | None:
        """See `AddedSums`."""
        along = (self._grad_query * self._query).sum(1, keepdim=True)
        return (self._grad_query - along * self._query) * self._query_scale

    def _weights(self, children: Tensor, parents: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Returns exp cos of each edge, [e, 1], and its child's direction and scale."""
        direction, scale = _directions(children)
        cosine = (self._query[parents] * direction).sum(1, keepdim=True)
        return cosine.exp(), direction, scale

    def _ends(self, hidden: Tensor, edges: Edges) -> tuple[Tensor, Tensor]:
        """Returns the child's state, [e, H], and the parent's inner row, [e], of each edge."""
        children = hidden if edges.children is None else hidden[edges.children]
        return children.to(self._sums.dtype), edges.parents + edges.first_parent


ChildSums = AddedSums | AttendedSums
"""h~ by addition or by attention."""


def _directions(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Returns rows over their Euclidean lengths, [·, H], and 1 / length, [·, 1]; 0 for zeros."""
    lengths = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
    scale = torch.where(lengths > 0, 1 / lengths, 0.0)
    return rows * scale, scale
