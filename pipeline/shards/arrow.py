"""Between numpy, Python and Arrow by their buffers, so that Arrow does not look for pandas.

pyarrow's own `array` and `to_numpy` import pandas wherever it is installed, to ask whether what
they are given is some of it: a second, before the first sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def strings(texts: Sequence[str], type_: pa.DataType | None = None) -> pa.Array:
    """Returns strings as Arrow has them.

    Args:
        texts: none of them null.
        type_: ``string`` or ``large_string``, which is the default.

    Raises:
        UnicodeEncodeError: one holds half a character.
    """
    encoded = [text.encode() for text in texts]
    kind = type_ or pa.large_string()
    offsets = np.fromiter(
        accumulate(map(len, encoded), initial=0),
        np.int64 if kind == pa.large_string() else np.int32,
        len(encoded) + 1,
    )
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(kind, len(encoded), buffers)


def numbers(values: NDArray[Any]) -> pa.Array:
    """Returns whole numbers as Arrow has them; shares their memory."""
    values = np.ascontiguousarray(values)
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])


def flags(values: Iterable[Any]) -> pa.Array:
    """Returns truth values as Arrow has them."""
    given = np.fromiter(values, np.bool_)
    bits = np.packbits(given, bitorder="little")
    return pa.Array.from_buffers(pa.bool_(), len(given), [None, pa.py_buffer(bits)])


def lists(rows: Sequence[Sequence[Any] | None], type_: pa.DataType) -> pa.Array:
    """Returns lists as Arrow has them; a dictionary of words is in order of first appearance.

    Args:
        type_: of lists of int16 or of dictionary-encoded strings.

    Raises:
        OverflowError: a number that does not fit 16 bits.
    """
    flat = chain.from_iterable(row for row in rows if row is not None)
    if pa.types.is_dictionary(type_.value_type):
        values = strings(list(flat), pa.string()).dictionary_encode()
    else:
        values = numbers(np.fromiter(flat, np.int16))
    lengths = (0 if row is None else len(row) for row in rows)
    offsets = np.fromiter(accumulate(lengths, initial=0), np.int32)
    is_null = [row is None for row in rows]
    mask = flags(is_null) if any(is_null) else None
    return pa.ListArray.from_arrays(numbers(offsets), values, type=type_, mask=mask)


def values_of(array: pa.Array) -> NDArray[Any]:
    """Returns whole numbers or truth values of Arrow as numpy has them.

    What stands where Arrow has a null means nothing.
    """
    _, content = array.buffers()
    stop = array.offset + len(array)
    if array.type == pa.bool_():
        bits = np.frombuffer(content or b"", np.uint8)
        return np.unpackbits(bits, count=stop, bitorder="little")[array.offset :].astype(np.bool_)
    return np.frombuffer(content or b"", str(array.type), count=stop)[array.offset :]


def vectors_of(column: pa.ChunkedArray) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Returns a column of vectors as a matrix [n, d], and which rows are null: zeros in it."""
    kind, width = column.type.value_type.to_pandas_dtype(), column.type.list_size
    matrix = np.zeros((len(column), width), dtype=kind)
    is_null = np.zeros(len(column), dtype=np.bool_)
    row = 0
    for chunk in column.chunks:
        values = chunk.values.buffers()[1]
        first = chunk.values.offset + chunk.offset * width
        rows = slice(row, row + len(chunk))
        if values is not None:
            found = np.frombuffer(values, kind)[first : first + len(chunk) * width]
            matrix[rows] = found.reshape(len(chunk), width)
        is_null[rows] = values_of(chunk.is_null())
        row += len(chunk)
    matrix[is_null] = 0
    return matrix, is_null


def gather_ranges(
    offsets: NDArray[np.int64], order: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns the flat positions of the chosen ranges one after the other, and their offsets."""
    lengths = offsets[order + 1] - offsets[order]
    chosen = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    shifts = np.repeat(offsets[order] - chosen[:-1], lengths)
    return shifts + np.arange(chosen[-1]), chosen
