"""Arrow's arrays by their buffers are those that pyarrow itself makes, and no pandas is loaded."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treeviews.pipeline.shards.arrow import flags, lists, numbers, strings, values_of

texts = st.lists(st.text(st.characters(codec="utf-8")))


@given(texts)
@settings(deadline=None)
def test_strings_are_arrow_s(given_texts: list[str]) -> None:
    for kind in (pa.string(), pa.large_string()):
        found = strings(given_texts, kind)
        found.validate(full=True)
        assert found.equals(pa.array(given_texts, kind))


@given(st.lists(st.booleans()), st.integers(0, 9))
@settings(deadline=None)
def test_truth_values_go_there_and_back(values: list[bool], start: int) -> None:
    found = flags(values)
    assert found.equals(pa.array(values, pa.bool_()))
    assert values_of(found[start:]).tolist() == values[start:]


def test_lists_hold_empty_rows_and_nulls() -> None:
    number, word = pa.int16(), pa.dictionary(pa.int32(), pa.string())
    for rows, item in (([[1, 2], [], None, [3]], number), ([["b", "a"], None, ["b"]], word)):
        kind = pa.list_(pa.field("item", item, nullable=False))
        assert lists(rows, kind).to_pylist() == rows
    assert lists(rows, kind).values.dictionary.to_pylist() == ["b", "a"]
    with pytest.raises(OverflowError):
        lists([[40_000]], pa.list_(number))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8"])
def test_numbers_go_there_and_back(dtype: str) -> None:
    values = np.arange(20).astype(dtype)[::2]
    found = numbers(values)
    assert found.equals(pa.array(values))
    np.testing.assert_array_equal(values_of(found[3:]), values[3:], strict=True)
    assert not len(values_of(numbers(values[:0])))
