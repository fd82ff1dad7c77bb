"""How alike vectors are: their cosine, all against all or pair by pair.

A vector of zeros, such as that of a sentence that could not be taken, is like nothing: its
cosines are 0.

Legend: n and m vectors, d their width.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float32]


def is_tensor(value: object) -> bool:
    """Returns whether something is a tensor of torch; loads no torch to find out."""
    return type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "detach")


def normalized(vectors: FloatArray) -> FloatArray:
    """Returns each vector at length 1, float32 [n, d]; one of zeros stays one."""
    most = np.abs(vectors).max(axis=-1, keepdims=True, initial=0)
    # Squares of float32 leave its range long before the numbers themselves do.
    scaled = vectors / np.where(most > 0, most, 1)
    lengths = np.linalg.norm(scaled, axis=-1, keepdims=True)
    return (scaled / np.where(lengths > 0, lengths, 1)).astype(np.float32, copy=False)


def similarity(a: Any, b: Any = None) -> FloatArray:
    """Returns the cosine of each vector of one list with each of another, float32 [n, m].

    Args:
        a: [n, d], or one vector [d], which counts as a list of one.
        b: [m, d] likewise; None compares ``a`` with itself.

    Raises:
        ValueError: they are no vectors of numbers, or of different widths.
    """
    first, second = _two_of_length_1(a, a if b is None else b)
    cosines: FloatArray = (first @ second.T).clip(-1, 1)
    return cosines


def similarity_pairwise(a: Any, b: Any) -> FloatArray:
    """Returns the cosine of each vector with the one at its place in the other list, float32 [n].

    Args:
        a: [n, d], or one vector [d], which counts as a list of one.
        b: [n, d] likewise.

    Raises:
        ValueError: they are no vectors of numbers, or of different shapes.
    """
    first, second = _two_of_length_1(a, b)
    if len(first) != len(second):
        raise ValueError(
            f"pairs need as many vectors on both sides, got {len(first)} and {len(second)}; "
            "similarity compares all with all"
        )
    cosines: FloatArray = (first * second).sum(-1).clip(-1, 1)
    return cosines


def _two_of_length_1(a: Any, b: Any) -> tuple[FloatArray, FloatArray]:
    """Returns both lists as float32 at length 1.

    Raises:
        ValueError: a list is none of vectors, or their widths differ.
    """
    first, second = matrix_of(a), matrix_of(b)
    if first.shape[1] != second.shape[1]:
        raise ValueError(
            f"vectors of {first.shape[1]} numbers cannot be compared with such of "
            f"{second.shape[1]}: encode both with the same encoder"
        )
    return normalized(first), normalized(second)


def matrix_of(value: Any) -> FloatArray:
    """Returns vectors as a numpy matrix, float32 [n, d]; one vector is a list of one.

    Raises:
        ValueError: it is none.
    """
    if is_tensor(value):
        value = value.detach().float().cpu().numpy()
    try:
        array = np.asarray(value).astype(np.float32, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"give vectors of numbers, not {type(value).__name__}") from error
    if array.ndim == 1 and len(array):
        return array[None]
    if array.ndim != 2:
        raise ValueError(f"give vectors [n, d], not an array of shape {list(array.shape)}")
    return array
