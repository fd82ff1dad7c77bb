"""Schedules against slow bookkeeping over single nodes, and their answers to malformed trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from itertools import pairwise
from random import Random

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from models.schedules import BinarySchedule, DependencySchedule
from models.sentence_batch import SentenceBatch
from tests.tree_oracles import Sentence, batch_of, random_sentence

LENGTHS = st.lists(st.integers(1, 15), min_size=1, max_size=6)


def sentences_of(seed: int, lengths: list[int]) -> tuple[list[Sentence], list[int]]:
    random = Random(seed)
    sentences = [random_sentence(random, length) for length in lengths]
    return sentences, [sum(lengths[:k]) for k in range(len(lengths))]


def dependency_schedule(sentences: list[Sentence]) -> DependencySchedule:
    schedule = batch_of(sentences).dependencies
    assert schedule is not None
    return schedule


def binary_schedule(sentences: list[Sentence]) -> BinarySchedule:
    schedule = batch_of(sentences).constituents
    assert schedule is not None
    return schedule


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32), lengths=LENGTHS)
def test_dependency_rows_point_to_their_parents(seed: int, lengths: list[int]) -> None:
    sentences, offsets = sentences_of(seed, lengths)
    parent_of = {
        offset + k: offset + head - 1 if head else None
        for sentence, offset in zip(sentences, offsets, strict=True)
        for k, head in enumerate(sentence.heads)
    }
    schedule = dependency_schedule(sentences)

    inner = schedule.inner_tokens.tolist()
    leaves = schedule.leaf_tokens.tolist()
    assert sorted(inner + leaves) == sorted(parent_of)
    assert set(inner) == {parent for parent in parent_of.values() if parent is not None}
    starts = np.cumsum([0, *schedule.level_sizes]).tolist()
    levels = [inner[a:b] for a, b in pairwise(starts)]
    found: dict[int, int | None] = dict.fromkeys(leaves + inner)
    found |= {
        leaf: inner[row] for leaf, row in zip(leaves, schedule.leaf_parents.tolist(), strict=False)
    }
    for k, rows in enumerate(schedule.inner_parents):
        found |= {
            node: levels[k + 1][row] for node, row in zip(levels[k], rows.tolist(), strict=True)
        }
    assert found == parent_of


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32), lengths=LENGTHS)
def test_dependency_roots_are_in_sentence_order(seed: int, lengths: list[int]) -> None:
    sentences, offsets = sentences_of(seed, lengths)
    schedule = dependency_schedule(sentences)

    last_level = (
        schedule.inner_tokens.tolist()[-schedule.level_sizes[-1] :]
        if (schedule.level_sizes)
        else []
    )
    candidates = last_level + schedule.leaf_tokens.tolist()[len(schedule.leaf_parents) :]
    rows = range(len(lengths)) if schedule.roots is None else schedule.roots.tolist()

    expected = [o + s.heads.index(0) for s, o in zip(sentences, offsets, strict=True)]
    assert [candidates[row] for row in rows] == expected


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32), lengths=LENGTHS)
def test_binary_levels_spell_each_tree(seed: int, lengths: list[int]) -> None:
    sentences, offsets = sentences_of(seed, lengths)
    schedule = binary_schedule(sentences)

    leaves = iter(schedule.leaf_tokens.tolist())
    below: list[object] = []
    for num_leaves, num_inner, placement in zip(
        schedule.leaf_counts, schedule.inner_counts, schedule.placements, strict=True
    ):
        assert len(below) == 2 * num_inner
        rows: list[object] = [(below[2 * k], below[2 * k + 1]) for k in range(num_inner)]
        rows += [next(leaves) for _ in range(num_leaves)]
        below = rows if placement is None else [rows[row] for row in placement.tolist()]

    def nested(sentence: Sentence, offset: int, node: int) -> object:
        if node < 0:
            return offset - 1 - node
        children = (sentence.left[node], sentence.right[node])
        return tuple(nested(sentence, offset, child) for child in children)

    assert below == [
        nested(s, o, 0 if s.left else -1) for s, o in zip(sentences, offsets, strict=True)
    ]


@settings(max_examples=50, deadline=None)
@given(lengths=LENGTHS)
def test_sequence_steps_read_each_sentence_in_order(lengths: list[int]) -> None:
    offsets = [0, *np.cumsum(lengths).tolist()]
    schedule = SentenceBatch.from_arrays(np.zeros(offsets[-1], np.int32), offsets).sequence

    tokens = iter(schedule.tokens.tolist())
    read: list[list[int]] = [[] for _ in lengths]
    for size in schedule.step_sizes:
        for place in range(size):
            read[place].append(next(tokens))

    expected = [list(range(a, b)) for a, b in pairwise(offsets)]
    assert [read[place] for place in schedule.unsort.tolist()] == expected


def test_long_chains_and_stars_are_scheduled() -> None:
    n = 500
    chain = Sentence(
        [1] * n, [0, *range(1, n)], [*range(1, n - 1), -1], [-n + k for k in range(n - 1)]
    )
    star = Sentence([1] * n, [0] + [1] * (n - 1), chain.left, chain.right)

    assert dependency_schedule([chain]).level_sizes == (1,) * (n - 1)
    assert dependency_schedule([star]).level_sizes == (1,)
    assert binary_schedule([chain]).inner_counts == (0,) + (1,) * (n - 1)


def test_word_types_are_shared_and_ascending() -> None:
    batch = SentenceBatch.from_arrays([7, 2, 7, 0], [0, 3, 4])

    assert batch.word_ids.tolist() == [0, 2, 7]
    assert batch.word_of_token.tolist() == [2, 1, 2, 0]
    assert (batch.num_sentences, batch.num_tokens) == (2, 4)


def test_a_batch_does_not_share_memory_with_its_arrays() -> None:
    heads = np.array([0, 1], dtype=np.int64)
    offsets = np.array([0, 2], dtype=np.int64)
    batch = SentenceBatch.from_arrays(np.array([1, 2]), offsets, heads)

    offsets[:] = 9

    assert batch.token_offsets.tolist() == [0, 2]


# A first sentence that is well formed, so that the error has to name the second.
GOOD = Sentence(words=[1, 2], heads=[2, 0], left=[-1], right=[-2])


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([0, 3, 2], "has a cycle among its dependency heads"),
        ([0, 2, 1], "has a cycle among its dependency heads"),
        ([2, 0, 0], "does not have exactly one dependency root"),
        ([2, 3, 1], "does not have exactly one dependency root"),
        ([0, 1, 4], "has a dependency head outside"),
        ([0, 1, -1], "has a dependency head outside"),
    ],
)
def test_malformed_heads_name_the_sentence(heads: list[int], message: str) -> None:
    bad = Sentence(words=[1, 2, 3], heads=heads, left=[1, -1], right=[-3, -2])

    with pytest.raises(ValueError, match=f"sentence 1 of the batch {message}"):
        batch_of([GOOD, bad])


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        ([-1, 2, 1], [-2, -3, -4], "has a cycle in its binary tree"),
        ([1, 0, -1], [2, -2, -3], "has a binary tree in which a node other than the root"),
        ([1, -1, -3], [2, -2, -3], "has a binary tree in which a node other than the root"),
        ([1, -1, -3], [3, -2, -4], "has a child in its binary tree that is no token"),
        ([1, -1, -3], [2, -2, -5], "has a child in its binary tree that is no token"),
    ],
)
def test_malformed_binary_trees_name_the_sentence(
    left: list[int], right: list[int], message: str
) -> None:
    bad = Sentence(words=[1, 2, 3, 4], heads=[0, 1, 1, 1], left=left, right=right)

    with pytest.raises(ValueError, match=f"sentence 1 of the batch {message}"):
        batch_of([GOOD, bad])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], [0, 1]), r"token_offsets must run from 0 to the number of tokens \(2\)"),
        (([], [0]), "over one sentence or more"),
        (([1, 2], [0, 0, 2]), "sentence 0 of the batch has no token"),
        (([1, -2], [0, 2]), "token_ids must not be negative"),
        (([1.5, 2.0], [0, 2]), "token_ids must hold integers, got float64"),
        (([[1, 2]], [0, 2]), "token_ids must be a flat array"),
        (([1, 2], [0, 2], [0]), "heads holds 1 values where the tokens ask for 2"),
        (([1, 2], [0, 2], None, [-1], None), "must be given together"),
        (([1, 2], [0, 2], None, [-1, -2], [-2]), "binary_left holds 2 values"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SentenceBatch.from_arrays(*arguments)  # type: ignore[arg-type]


def tensors_in(value: object) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from tensors_in(item)
    elif is_dataclass(value):
        for field in fields(value):
            yield from tensors_in(getattr(value, field.name))


def test_a_batch_moves_to_a_device_as_a_whole() -> None:
    sentences, _ = sentences_of(0, [1, 5, 9])
    batch = batch_of(sentences)

    moved = batch.to("meta")

    assert {tensor.device.type for tensor in tensors_in(moved)} == {"meta"}
    assert [t.shape for t in tensors_in(moved)] == [t.shape for t in tensors_in(batch)]
