from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline.parsers.chart_decoding import best_spans

Span = tuple[int, int]


def best_binary_trees(scores: NDArray[np.float32], lengths: list[int]) -> list[list[Span]]:
    """Each sentence's best tree as its spans in preorder."""
    trees: list[list[Span]] = [[] for _ in lengths]
    for sentence, start, end in best_spans(scores, lengths).T.tolist():
        trees[sentence].append((start, end))
    return trees


def _every_tree(start: int, end: int) -> Iterator[list[Span]]:
    if end - start == 1:
        yield [(start, end)]
    for middle in range(start + 1, end):
        for left in _every_tree(start, middle):
            for right in _every_tree(middle, end):
                yield [(start, end), *left, *right]


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 6])
def test_the_best_of_all_trees_is_found(length: int) -> None:
    scores = np.random.default_rng(length).normal(size=(20, length, length)).astype(np.float32)
    for chart, tree in zip(scores, best_binary_trees(scores, [length] * 20), strict=True):
        best = max(_every_tree(0, length), key=lambda spans: sum(chart[i, j - 1] for i, j in spans))
        assert tree == best


def test_a_sentence_in_a_padded_batch_gets_the_tree_it_gets_alone() -> None:
    random = np.random.default_rng(0)
    lengths = [9, 1, 4, 7, 2]
    padded = random.normal(size=(5, 9, 9)).astype(np.float32) * 100
    together = best_binary_trees(padded, lengths)
    for chart, length, tree in zip(padded, lengths, together, strict=True):
        alone = best_binary_trees(chart[None, :length, :length], [length])
        assert [tree] == alone
        assert len(tree) == 2 * length - 1


def test_of_equal_splits_the_leftmost_is_taken() -> None:
    tree = best_binary_trees(np.zeros((1, 3, 3), np.float32), [3])[0]
    assert tree == [(0, 3), (0, 1), (1, 3), (1, 2), (2, 3)]


def test_the_longest_sentence_needs_no_recursion() -> None:
    chart = np.zeros((1, 510, 510), np.float32)
    chart[0, 0, :] = 1.0  # every prefix is good, so the tree branches left all the way down
    spans = best_binary_trees(chart, [510])[0]
    assert (0, 2) in spans
    assert len(spans) == 1019
