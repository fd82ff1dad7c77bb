"""Trees in flat form: what makes one valid, brackets and back, binary trees and back."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.inverse_trees import from_brackets
from treeviews.pipeline.trees.flat_trees import (
    ConstituencyParse,
    binarize,
    validate_constituents,
    validate_heads,
)
from treeviews.pipeline.trees.treebanks import to_brackets

TEXT = "(S (NP (DT the) (NN dog)) (VP (VBD slept)) (. .))"


TREE = ConstituencyParse(
    starts=[0, 0, 2], ends=[4, 2, 3], labels=["S", "NP", "VP"], tags=["DT", "NN", "VBD", "."]
)


def trees() -> st.SearchStrategy[tuple[list[str], ConstituencyParse]]:
    """Any tree: n-ary, deep, unary chains, bare tokens, one token."""
    leaf = st.sampled_from(["(DT a)", "(NN b)", "(VB c)"])
    label = st.sampled_from(["NP", "VP", "S"])

    def node(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        parts = st.tuples(label, st.lists(children, min_size=1, max_size=4))
        return parts.map(lambda part: f"({part[0]} {' '.join(part[1])})")

    return node(st.recursive(leaf, node, max_leaves=25)).map(from_brackets)


def test_brackets_become_spans_in_preorder_and_bare_tokens_have_none() -> None:
    assert from_brackets(TEXT) == (["the", "dog", "slept", "."], TREE)
    assert from_brackets("(S (VP (VB go)))")[1].labels == ["S+VP"]
    assert from_brackets("(UH hello)")[1].labels == ["TOP"]


@given(trees())
@settings(max_examples=80, deadline=None)
def test_any_tree_survives_the_round_trip_through_brackets(
    tree: tuple[list[str], ConstituencyParse],
) -> None:
    assert validate_constituents(tree[1], len(tree[0])) is None
    assert from_brackets(to_brackets(*tree)) == tree


def test_brackets_in_words_are_escaped_and_restored() -> None:
    parse = ConstituencyParse([0], [3], ["NP"], ["-LRB-", "NN", "-RRB-"])
    line = to_brackets(["(", "f[x]", ")"], parse)
    assert line == "(NP (-LRB- -LRB-) (NN f-LSB-x-RSB-) (-RRB- -RRB-))"
    assert from_brackets(line) == (["(", "f[x]", ")"], parse)


def test_depth_is_bounded_by_memory_alone() -> None:
    depth = 5000
    _, parse = from_brackets("(NP (DT a) " * depth + "(NN b)" + ")" * depth)
    assert len(parse.starts) == depth
    assert validate_constituents(parse, depth + 1) is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"ends": [4, 2]}, "3 starts, 2 ends and 3 labels"),
        ({"starts": [1, 0, 2]}, "not the whole sentence"),
        ({"ends": [4, 2, 5]}, r"constituent 2 \[2, 5\) is empty or outside"),
        ({"starts": [0, 0, 1]}, r"constituent 2 \[1, 3\) crosses"),
        ({"starts": [0, 2, 0], "ends": [4, 3, 2]}, r"constituent 2 \[0, 2\) .* out of preorder"),
        ({"ends": [4, 4, 3]}, "occurs twice; collapse the unary chain"),
    ],
)
def test_a_wrong_tree_is_told_apart_by_its_reason(change: dict[str, Any], reason: str) -> None:
    found = validate_constituents(replace(TREE, **change), 4)
    assert found is not None
    assert re.search(reason, found), found


@pytest.mark.parametrize(
    ("heads", "reason"),
    [
        ([], "0 roots"),
        ([0, 0], "2 roots where exactly one is needed"),
        ([0, 3, 4, 2], "token 2 is in a cycle"),
        ([0, 9], "token 2 has head 9, outside 0 to 2"),
    ],
)
def test_heads_that_are_no_tree_are_told_apart(heads: list[int], reason: str) -> None:
    found = validate_heads(heads)
    assert found is not None
    assert reason in found


def test_inner_nodes_are_numbered_in_preorder() -> None:
    _, parse = from_brackets(
        "(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat)) (ADVP (RB up))) (. .))"
    )
    tree = binarize(parse)
    #   0 S = (1 S|) .    1 S| = (2 NP) (3 VP)    2 NP = the dog
    #   3 VP = (4 VP|) up    4 VP| = saw (5 NP)    5 NP = a cat
    assert tree.left == [1, 2, -1, 4, -3, -4]
    assert tree.right == [-7, 3, -2, -6, 5, -5]


@given(trees())
@settings(max_examples=120, deadline=None)
def test_a_binary_tree_has_every_constituent(tree: tuple[list[str], ConstituencyParse]) -> None:
    parse = tree[1]
    binary = binarize(parse)
    ends = dict[int, tuple[int, int]]()
    for node in range(len(binary.left) - 1, -1, -1):  # children come behind their parent
        (start, middle), (right, end) = (
            ends[child] if child >= 0 else (-1 - child, -child)
            for child in (binary.left[node], binary.right[node])
        )
        assert middle == right
        ends[node] = start, end
    spans = zip(parse.starts, parse.ends, strict=True)
    assert {span for span in spans if span[1] > span[0] + 1} <= set(ends.values())
    assert ends.get(0, (0, 1)) == (0, len(parse.tags))
