from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.trees.flat_trees import BinaryTree, ConstituencyParse, binarize
from tests.support.inverse_trees import from_brackets, unbinarize
from tests.support.tree_strategies import trees


def test_all_children_but_the_last_are_grouped_again_and_again() -> None:
    _, parse = from_brackets("(NP (DT a) (JJ big) (JJ red) (NN dog))")
    tree = binarize(parse)
    assert tree.left == [1, 2, -1]  # ((a big) red) dog
    assert tree.right == [-4, -3, -2]
    assert tree.labels == ["NP", "NP|", "NP|"]


def test_inner_nodes_are_numbered_in_preorder() -> None:
    _, parse = from_brackets(
        "(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat)) (ADVP (RB up))) (. .))"
    )
    tree = binarize(parse)
    #   0 S = (1 S|) .    1 S| = (2 NP) (3 VP)    2 NP = the dog
    #   3 VP = (4 VP|) up    4 VP| = saw (5 NP)    5 NP = a cat
    assert tree.left == [1, 2, -1, 4, -3, -4]
    assert tree.right == [-7, 3, -2, -6, 5, -5]
    assert tree.labels == ["S", "S|", "NP", "VP", "VP|", "NP"]
    assert tree.leaf_labels == ["", "", "", "", "", "ADVP", ""]


@pytest.mark.parametrize(
    ("order", "labels"),
    [
        (0, ["NP", "NP|", "NP|"]),
        (1, ["NP", "NP<JJ>|", "NP<ADJP>|"]),
        (2, ["NP", "NP<ADJP,JJ>|", "NP<DT,ADJP>|"]),
        (9, ["NP", "NP<DT,ADJP,JJ>|", "NP<DT,ADJP>|"]),
    ],
)
def test_the_order_tells_how_many_siblings_a_new_label_keeps(order: int, labels: list[str]) -> None:
    _, parse = from_brackets("(NP (DT a) (ADJP (JJ big)) (JJ red) (NN dog))")
    assert binarize(parse, order=order).labels == labels


def test_one_token_has_no_inner_node() -> None:
    _, parse = from_brackets("(NP (NN dog))")
    assert binarize(parse) == BinaryTree([], [], [], ["NP"], ["NN"])


@given(trees(), st.integers(0, 3))
@settings(max_examples=120, deadline=None)
def test_the_inverse_is_exact_whatever_the_order(
    tree: tuple[list[str], ConstituencyParse], order: int
) -> None:
    assert unbinarize(binarize(tree[1], order=order)) == tree[1]


@given(trees())
@settings(max_examples=80, deadline=None)
def test_every_token_and_inner_node_but_the_root_is_a_child_exactly_once(
    tree: tuple[list[str], ConstituencyParse],
) -> None:
    tokens, parse = tree
    binary = binarize(parse)
    children = sorted(binary.left + binary.right)
    n = len(tokens)
    assert len(binary.left) == len(binary.right) == n - 1
    expected = [*range(-n, 0), *range(1, n - 1)] if n > 1 else []
    assert children == expected


@pytest.mark.parametrize(
    "text", ["(NP " + "(NN a) " * 510 + ")", "(X (NN a) " * 509 + "(X (NN a))" + ")" * 509]
)
def test_the_longest_sentence_flat_or_deep_needs_no_recursion(text: str) -> None:
    _, parse = from_brackets(text)
    assert unbinarize(binarize(parse)) == parse


def test_labels_that_look_like_new_nodes_are_refused() -> None:
    _, parse = from_brackets("(NP (NN a) (NN b))")
    with pytest.raises(ValueError, match=r"label 'NP\|' ends with '\|'"):
        binarize(replace(parse, labels=["NP|"]))


def test_a_label_with_the_mark_inside_is_kept() -> None:
    _, parse = from_brackets("(ADVP|PRT (RB a) (RB b) (RB c))")
    assert unbinarize(binarize(parse)) == parse


def test_a_negative_order_is_refused() -> None:
    with pytest.raises(ValueError, match="order must be >= 0, got -1"):
        binarize(ConstituencyParse([0], [1], ["NP"], ["NN"]), order=-1)
