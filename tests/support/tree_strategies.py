"""Random trees for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.support.inverse_trees import from_brackets
from treeviews.pipeline.trees.flat_trees import ConstituencyParse


def trees() -> st.SearchStrategy[tuple[list[str], ConstituencyParse]]:
    """Any tree: n-ary, deep, unary chains, bare tokens, one token."""
    leaf = st.sampled_from(["(DT a)", "(NN b)", "(VB c)"])
    label = st.sampled_from(["NP", "VP", "S"])

    def node(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        parts = st.tuples(label, st.lists(children, min_size=1, max_size=4))
        return parts.map(lambda part: f"({part[0]} {' '.join(part[1])})")

    return node(st.recursive(leaf, node, max_leaves=25)).map(from_brackets)
