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
        self._codes: dict[str, int] | None = None
        if pa.types.is_dictionary(type_.value_type):
            self._codes = {}
        # Words are kept as codes in order of first appearance: four bytes each.
        self._values: array[int] = array("h" if self._codes is None else "i")
        self._offsets = array("i", [0])
        self._is_null = bytearray()

    def append(self, row: Sequence[int] | Sequence[str] | None) -> None:
        """Adds one row, or a null.

        Raises:
            OverflowError: a number that does not fit 16 bits.
        """
        if row is not None and self._codes is not None:
            codes = self._codes
            self._values.extend([codes.setdefault(word, len(codes)) for word in row])  # type: ignore[arg-type]
        elif row is not None:
            self._values.extend(row)  # type: ignore[arg-type]
        self._offsets.append(len(self._values))
        self._is_null.append(row is None)

    def to_arrow(self) -> pa.Array:
        """Returns the column; the dictionary of a text column is in order of first appearance."""
        if self._codes is None:
            values = pa.array(np.frombuffer(self._values, dtype=np.int16), pa.int16())
        else:
            values = pa.DictionaryArray.from_arrays(
                pa.array(np.frombuffer(self._values, dtype=np.int32)),
                pa.array(list(self._codes), pa.string()),
            )
        mask = np.frombuffer(self._is_null, dtype=np.bool_)
        return pa.ListArray.from_arrays(
            pa.array(np.frombuffer(self._offsets, dtype=np.int32)),
            values,
            type=self._type,
            mask=pa.array(mask) if mask.any() else None,
        )
