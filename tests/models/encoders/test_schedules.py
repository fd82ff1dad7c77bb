"""Schedules against slow bookkeeping over single nodes, and their answers to malformed trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from random import Random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.tree_oracles import Sentence, batch_of, random_sentence
from treeviews.models.encoders.binary_schedule import BinarySchedule
from treeviews.models.encoders.dependency_schedule import DependencySchedule

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


Spelling = tuple[object, ...]


def spell_dependencies(sentence: Sentence) -> Spelling:
    """Returns (word, children's spellings in any fixed order) of the root."""

    def spell(node: int) -> Spelling:
        children = [spell(k) for k, head in enumerate(sentence.heads) if head == node + 1]
        return (sentence.words[node], *sorted(children, key=repr))

    return spell(sentence.heads.index(0))


def edges_by_parent(schedule: DependencySchedule, *, by_sum: bool) -> dict[int, list[int]]:
    """Returns each inner row's children's state rows, as the sums or as the forget gates say."""
    F, S = schedule.num_fringe, schedule.num_fringe_sums
    children: dict[int, list[int]] = {row: [] for row in range(schedule.num_inner)}
    of_sum = schedule.groups[1].sum_of_node if F else None
    rows_of_sum: dict[int, list[int]] = {}
    for row in range(schedule.num_inner):
        key = row - F + S if of_sum is None or row >= F else int(of_sum[row])
        rows_of_sum.setdefault(key, []).append(row)
    for group in schedule.groups:
        if (edges := group.edges) is None:
            continue
        ends = (edges.children, edges.parents, edges.first_parent)
        if by_sum:
            ends = (edges.sum_children, edges.sum_parents, edges.first_sum)
        places, parents, first = ends
        for number, parent in enumerate((parents + first).tolist()):
            place = number if places is None else int(places[number])
            for inner in rows_of_sum[parent] if by_sum else [parent]:
                children[inner].append(group.states.start + place)
    return children


@pytest.mark.parametrize("by_sum", [True, False])
@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32), lengths=LENGTHS)
def test_dependency_rows_spell_each_tree(by_sum: bool, seed: int, lengths: list[int]) -> None:
    sentences, _ = sentences_of(seed, lengths)
    batch = batch_of(sentences)
    schedule = dependency_schedule(sentences)
    children = edges_by_parent(schedule, by_sum=by_sum)

    def spell(row: int) -> Spelling:
        word = int(batch.word_ids[schedule.words[row]])
        below = children.get(row - schedule.num_leaves, [])
        return (word, *sorted((spell(child) for child in below), key=repr))

    spelled = [spell(row) for row in schedule.roots.tolist()]
    assert spelled == [spell_dependencies(sentence) for sentence in sentences]


def test_equal_parts_of_dependency_trees_are_one_row() -> None:
    # "the old dog barks" twice, "the dog barks", "old the dog barks": 1 the, 2 old, 3 dog, 4 barks.
    old_dog = Sentence([1, 2, 3, 4], [3, 3, 4, 0], [1, 2, -1], [-4, -3, -2])
    dog = Sentence([1, 3, 4], [2, 3, 0], [1, -1], [-3, -2])
    dog_old = Sentence([2, 1, 3, 4], [3, 3, 4, 0], [1, 2, -1], [-4, -3, -2])

    schedule = dependency_schedule([old_dog, old_dog, dog, dog_old])

    assert schedule.num_leaves == 2  # the, old
    assert schedule.num_fringe == schedule.num_fringe_sums == 2  # {the, old} dog, {the} dog
    assert [group.states for group in schedule.groups[2:]] == [slice(4, 8)]  # barks, four times


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32), lengths=LENGTHS)
def test_binary_rows_spell_each_tree(seed: int, lengths: list[int]) -> None:
    sentences, _ = sentences_of(seed, lengths)
    batch = batch_of(sentences)
    schedule = binary_schedule(sentences)
    T = schedule.num_leaves

    def spell(row: int) -> object:
        if row < T:
            return int(batch.word_ids[row])
        inner = row - T
        children = []
        for side in (schedule.left, schedule.right):
            child = int(side.children[inner])
            assert int(side.operands[side.operand_of[inner]]) == child
            children.append(spell(child))
        return tuple(children)

    def nested(sentence: Sentence, node: int) -> object:
        if node < 0:
            return sentence.words[-1 - node]
        return tuple(
            nested(sentence, child) for child in (sentence.left[node], sentence.right[node])
        )

    spelled = [spell(row) for row in schedule.roots.tolist()]
    assert spelled == [nested(s, 0 if s.left else -1) for s in sentences]


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32), lengths=LENGTHS)
def test_sequence_steps_read_each_sentence_in_order(seed: int, lengths: list[int]) -> None:
    sentences, _ = sentences_of(seed, lengths)
    batch = batch_of(sentences)
    schedule = batch.sequence

    for reading, direction in ((schedule.onward, 1), (schedule.backward, -1)):
        steps = list(schedule.later_steps(reading))
        row_of_token = reading.row_of_token.split(lengths)
        words = batch.word_ids[reading.words].tolist()
        before = dict(
            zip(
                range(steps[0].stop, len(words)) if steps else [],
                reading.previous_rows.tolist(),
                strict=True,
            )
        )
        for place, number in enumerate(schedule.by_length.tolist()):
            rows = row_of_token[number].tolist()[::direction]
            assert rows[0] == reading.first_rows[place]
            assert rows[-1] == reading.last_rows[number]
            assert rows[1:] == [step.start + place for step in steps[: len(rows) - 1]]
            assert rows[1:-1] == [before[row] for row in rows[2:]]
            assert [words[row] for row in rows] == sentences[number].words[::direction]


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
