"""Builds Arrow list columns from flat values and lengths, without a Python list per row."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
import pyarrow as pa


class FlatListColumn:
    """A list column in the making; its rows are appended in order.

    Args:
        type_: an Arrow list type of int16 or of dictionary-encoded strings.
    """

    def __init__(self, type_: pa.DataType) -> None:
        self._type = type_
        self._numbers: array[int] | None = None
        self._words: list[str] = []
        if not pa.types.is_dictionary(type_.value_type):
            self._numbers = array("h")
        self._offsets = array("i", [0])
        self._is_null = bytearray()

    def append(self, row: Sequence[int] | Sequence[str] | None) -> None:
        """Adds one row, or a null.

        Raises:
            OverflowError: a number that does not fit 16 bits.
        """
        values: array[int] | list[str] = self._words if self._numbers is None else self._numbers
        if row is not None:
            values.extend(row)  # type: ignore[arg-type]
        self._offsets.append(len(values))
        self._is_null.append(row is None)

    def to_arrow(self) -> pa.Array:
        """Returns the column; the dictionary of a text column is in order of first appearance."""
        if self._numbers is None:
            values = pa.array(self._words, pa.string()).dictionary_encode()
        else:
            values = pa.array(np.frombuffer(self._numbers, dtype=np.int16), pa.int16())
        mask = np.frombuffer(self._is_null, dtype=np.bool_)
        return pa.ListArray.from_arrays(
            pa.array(np.frombuffer(self._offsets, dtype=np.int32)),
            values,
            type=self._type,
            mask=pa.array(mask) if mask.any() else None,
        )
