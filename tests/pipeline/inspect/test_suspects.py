"""Rows that are not suspected are right: beside the checks of one row, which need no arrays."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.base.refusal import Refusal
from pipeline.inspect.row_checks import row_faults, suspect_rows, token_counts
from pipeline.parsing.parse_shard import row_of
from pipeline.shards.schema import STAGES
from pipeline.trees.parses import DependencyParse
from tests.support.shard_files import sentence_rows, stage_table
from tests.support.tree_oracles import random_heads
from tests.support.tree_strategies import trees

Row = dict[str, Any]


def suspects(stage: str, rows: list[Row], num_tokens: list[int] | None) -> list[int]:
    table = stage_table(stage, rows)
    counts = None if num_tokens is None else np.array(num_tokens, dtype=np.int64)
    return suspect_rows(stage, table, counts).tolist()


def rows_at_fault(stage: str, rows: list[Row], num_tokens: list[int]) -> list[int]:
    return [
        number
        for number, (row, length) in enumerate(zip(rows, num_tokens, strict=True))
        if any(row_faults(stage, row, length))
    ]


def columns(parse: Any, num_tokens: int) -> Row:
    row = row_of(parse, ["x"] * num_tokens)
    assert not isinstance(row, Refusal)
    return {name: list(values) for name, values in row.items()}


def dependency_rows(seed: int) -> list[Row]:
    random = Random(seed)
    lengths = [random.randint(1, 12) for _ in range(20)]
    heads = [random_heads(random, length) for length in lengths]
    return [columns(DependencyParse(h, ["dep"] * len(h)), len(h)) for h in heads]


def change(row: Row, random: Random) -> None:
    """Changes one number or label of a row, adds one, or takes one away."""
    name = random.choice([name for name in row if row[name]])
    values = row[name]
    place = random.randrange(len(values))
    if isinstance(values[place], str):
        values[place] = random.choice(["NP", "", "NP|", "NP++VP"])
    else:
        values[place] += random.choice([-3, -2, -1, 1, 2, 3])
    if random.random() < 0.2:
        values.append(values[place])
    elif random.random() < 0.2:
        del values[place]


@pytest.mark.parametrize("seed", range(30))
def test_of_changed_dependencies_all_faults_are_suspected(seed: int) -> None:
    random, rows = Random(seed), dependency_rows(seed)
    lengths = [len(row["heads"]) for row in rows]
    assert suspects("dependencies", rows, lengths) == []
    for row in random.sample(rows, 8):
        change(row, random)
    assert suspects("dependencies", rows, lengths) == rows_at_fault("dependencies", rows, lengths)


@pytest.mark.slow
@given(st.lists(trees(), min_size=1, max_size=8), st.integers(0, 2**32))
def test_of_changed_constituents_all_faults_are_suspected(found: list[Any], seed: int) -> None:
    random = Random(seed)
    rows = [columns(parse, len(tokens)) for tokens, parse in found]
    lengths = [len(tokens) for tokens, _ in found]
    assert suspects("constituents", rows, lengths) == []
    for row in rows[::2]:
        change(row, random)
    at_fault = rows_at_fault("constituents", rows, lengths)
    assert set(at_fault) <= set(suspects("constituents", rows, lengths))


def test_right_rows_beside_changed_ones_are_not_suspected() -> None:
    row = {"heads": [2, 0], "deprels": ["dep", "root"]}
    cycle = {"heads": [2, 1], "deprels": ["dep", "dep"]}
    assert suspects("dependencies", [row, cycle, row], [2, 2, 2]) == [1]


def test_a_binary_tree_of_other_spans_is_suspected() -> None:
    """Both are trees by themselves: the first has no node for [1, 3), the second one too many."""
    row = {"span_starts": [0, 1], "span_ends": [3, 3], "span_labels": ["S", "NP"]}
    flat = {"span_starts": [0], "span_ends": [3], "span_labels": ["S"]}
    leftwards = {"tags": ["X"] * 3, "binary_left": [1, -1], "binary_right": [-3, -2]}
    rightwards = {"tags": ["X"] * 3, "binary_left": [-1, -2], "binary_right": [1, -3]}
    rows = [row | leftwards, flat | rightwards, row | rightwards, flat | leftwards]
    assert suspects("constituents", rows, [3] * 4) == [0, 1]


def test_a_deep_tree_is_right() -> None:
    n = 510
    rows = [{"heads": [*range(2, n + 1), 0], "deprels": ["dep"] * n}] * 3
    assert suspects("dependencies", rows, [n] * 3) == []


@pytest.mark.parametrize("num_tokens", [None, [2, 3, 3]])
def test_nulls_are_right_where_all_columns_have_them(num_tokens: list[int] | None) -> None:
    rows = [
        {"heads": [2, 0], "deprels": ["dep", "root"]},
        {"heads": None, "deprels": None},
        {"heads": None, "deprels": ["dep", "dep", "root"]},
    ]
    assert suspects("dependencies", rows, num_tokens) == [2]


def test_without_sentences_the_lengths_of_the_row_itself_count() -> None:
    rows = [{"heads": [0], "deprels": ["root"]}, {"heads": [0], "deprels": []}]
    assert suspects("dependencies", rows, None) == [1]
    assert suspects("dependencies", rows, [2, 1]) == [0, 1]


def test_empty_sentences_and_tokens_are_suspected() -> None:
    words = [["a"], [], ["a", "", "b"], ["b", "c"]]
    rows = sentence_rows(words)
    assert suspects("sentences", rows, None) == [1, 2]
    table = stage_table("sentences", rows)
    assert token_counts(table).tolist() == [1, 0, 3, 2]


@pytest.mark.parametrize("stage", STAGES)
def test_no_rows_are_no_suspects(stage: str) -> None:
    assert suspects(stage, [], []) == []
