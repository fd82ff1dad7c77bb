"""A dependency schedule as a list of groups, each computed at once, for a loop to walk over."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from torch import Tensor

from treeviews.models.encoders.order.dependency import DependencySchedule


@dataclass(frozen=True, slots=True)
class Edges:
    """From the nodes of a group to their parents; e of them."""

    numbers: slice
    """Which they are among all edges of the batch."""
    children: Tensor | None
    """[e] int64; the child's place in its group. None: every node in turn."""
    parents: Tensor
    """[e] int64; the parent's inner row, from ``first_parent`` on."""
    first_parent: int
    sum_children: Tensor | None
    """[·] int64; the same for h~, where parents with equal children are one row."""
    sum_parents: Tensor
    """[·] int64; sum row, from ``first_sum`` on."""
    first_sum: int


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Nodes that are computed together: the leaves, the fringe or a level of the core."""

    states: slice
    """State rows."""
    inner: slice | None
    """Inner rows; None for leaves."""
    sums: slice
    """Sum rows; none for leaves."""
    sum_of_node: Tensor | None
    """[·] int64; each node's place in ``sums``. None: one each."""
    edges: Edges | None
    """None if nobody has a parent."""

    def without_empty_edges(self) -> NodeGroup:
        """Returns the group with ``edges`` None if there are none."""
        if self.edges is None or len(self.edges.parents):
            return self
        return replace(self, edges=None)


def node_groups(schedule: DependencySchedule) -> list[NodeGroup]:
    """Returns the groups in the order of computation; every edge leads to a later group."""
    s = schedule
    K, F, S_F = s.num_leaves, s.num_fringe, s.num_fringe_sums
    num_leaf_edges, num_fringe_edges = len(s.leaf_to_inner[0]), len(s.fringe_to_core[0])
    first_core_edge = num_leaf_edges + num_fringe_edges
    leaves = NodeGroup(
        states=slice(0, K),
        inner=None,
        sums=slice(0, 0),
        sum_of_node=None,
        edges=Edges(slice(0, num_leaf_edges), *s.leaf_to_inner, 0, *s.leaf_to_sum, 0),
    )
    fringe = NodeGroup(
        states=slice(K, K + F),
        inner=slice(0, F),
        sums=slice(0, S_F),
        sum_of_node=s.fringe_sums,
        edges=Edges(
            slice(num_leaf_edges, first_core_edge), *s.fringe_to_core, F, *s.fringe_to_core, S_F
        ),
    )
    groups = [leaves, fringe]
    for first, last in pairwise(s.level_starts):
        parents = s.core_parents[first:last]
        numbers = slice(first_core_edge + first, first_core_edge + last)
        groups.append(
            NodeGroup(
                states=slice(K + F + first, K + F + last),
                inner=slice(F + first, F + last),
                sums=slice(S_F + first, S_F + last),
                sum_of_node=None,
                edges=Edges(numbers, None, parents, F, None, parents, S_F),
            )
        )
    return [group.without_empty_edges() for group in groups if group.states != slice(K, K)]
