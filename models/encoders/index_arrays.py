"""What every schedule shares: typed index arrays, distinct numbers, errors that name a sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

ScheduleT = TypeVar("ScheduleT")
IndexArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


def refuse_by_node(is_wrong: BoolArray, node_offsets: IndexArray, what: str) -> None:
    """Raises an error naming the first sentence with a node for which ``is_wrong`` holds.

    Args:
        node_offsets: [B+1]; sentence b owns the nodes ``node_offsets[b]:node_offsets[b + 1]``.

    Raises:
        ValueError: any node is wrong.
    """
    if is_wrong.any():
        sentence = np.searchsorted(node_offsets, is_wrong.argmax(), side="right") - 1
        raise ValueError(f"sentence {sentence} of the batch {what}")


def mark(indices: IndexArray, size: int) -> BoolArray:
    """Returns which of ``size`` numbers are among ``indices``."""
    result = np.zeros(size, dtype=np.bool_)
    result[indices] = True
    return result


def distinct(keys: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Returns an example's place for each distinct key, and each key's number among these.

    The keys are numbered in rising order, as by `numpy.unique`, but in half its time.
    """
    order = np.argsort(keys)
    in_order = keys[order]
    return _numbered(order, in_order[1:] != in_order[:-1])


def distinct_pairs(first: IndexArray, second: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Returns the same for pairs of numbers, each >= 0."""
    order = np.lexsort((second, first))
    one, other = first[order], second[order]
    return _numbered(order, (one[1:] != one[:-1]) | (other[1:] != other[:-1]))


def _numbered(order: IndexArray, is_other: BoolArray) -> tuple[IndexArray, IndexArray]:
    """Returns `distinct`'s result from the sorted order and whether each differs from the last."""
    is_first = np.concatenate([np.ones(min(1, len(order)), dtype=np.bool_), is_other])
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.cumsum(is_first) - 1
    return order[is_first], numbers


def distinct_words(ids: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Returns the distinct vocabulary ids in rising order, and each id's number among these."""
    words, numbers = np.unique(ids, return_inverse=True)
    return words, numbers


def to_tensor(array: IndexArray) -> Tensor:
    """Returns an array as an int64 tensor; may share its memory."""
    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.int64))


def on_device(schedule: ScheduleT, device: torch.device | str) -> ScheduleT:
    """Returns a dataclass of indices with its tensors on ``device``, in a single copy.

    Args:
        schedule: its fields are int64 tensors, tuples, such dataclasses, or left as they are.
    """
    tensors: list[Tensor] = []

    def collect(tensor: Tensor) -> Tensor:
        tensors.append(tensor)
        return tensor

    _map_tensors(schedule, collect)
    target = torch.device(device)
    if not tensors or tensors[0].device.type == target.type == "cpu":
        return schedule
    together = torch.cat([tensor.reshape(-1) for tensor in tensors])
    to_gpu = together.device.type == "cpu" and target.type == "cuda"
    if to_gpu:
        together = together.pin_memory()
    sizes = [tensor.numel() for tensor in tensors]
    moved = iter(together.to(target, non_blocking=to_gpu).split(sizes))
    placed: ScheduleT = _map_tensors(schedule, lambda tensor: next(moved).view(tensor.shape))
    return placed


def _map_tensors(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Returns ``value`` with every tensor in it changed, in the order of its fields."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, tuple):
        return tuple(_map_tensors(part, change) for part in value)
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value)]
        return replace(value, **{n: _map_tensors(getattr(value, n), change) for n in names})
    return value
