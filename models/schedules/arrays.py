"""What every schedule shares: typed index arrays, sentence lengths, errors that name a sentence."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

IndexArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


def as_index_array(values: npt.ArrayLike, name: str) -> IndexArray:
    """Returns ``values`` as a flat int64 array.

    Raises:
        ValueError: not one-dimensional, or not integers.
    """
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must be a flat array, got {array.ndim} dimensions")
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"{name} must hold integers, got {array.dtype}")
    return array.astype(np.int64, copy=False)


def lengths_from_offsets(token_offsets: IndexArray, num_tokens: int) -> IndexArray:
    """Returns the number of tokens of each sentence, [B].

    Raises:
        ValueError: the offsets do not cut ``num_tokens`` tokens into sentences of one or more.
    """
    if len(token_offsets) < 2 or token_offsets[0] != 0 or token_offsets[-1] != num_tokens:
        raise ValueError(
            f"token_offsets must run from 0 to the number of tokens ({num_tokens}) over one "
            f"sentence or more, got {token_offsets[:1].tolist()} to {token_offsets[-1:].tolist()}"
        )
    lengths = np.diff(token_offsets)
    refuse(lengths < 1, "has no token")
    return lengths


def refuse(is_wrong: BoolArray, what: str) -> None:
    """Raises an error naming the first sentence of the batch for which ``is_wrong`` [B] holds.

    Raises:
        ValueError: any sentence is wrong.
    """
    wrong = np.flatnonzero(is_wrong)
    if len(wrong):
        raise ValueError(
            f"sentence {wrong[0]} of the batch {what} ({len(wrong)} such in {len(is_wrong)})"
        )


def any_by_sentence(is_wrong: BoolArray, sentence_of: IndexArray, num_sentences: int) -> BoolArray:
    """Returns for each sentence whether any of its nodes is wrong, [B]."""
    result = np.zeros(num_sentences, dtype=np.bool_)
    result[sentence_of[is_wrong]] = True
    return result


def to_tensor(array: IndexArray) -> Tensor:
    """Returns the array as a tensor that shares no memory with the caller's data."""
    return torch.from_numpy(np.array(array, dtype=np.int64))
