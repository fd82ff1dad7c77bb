"""What all adapters do with a failing sentence, and with a failing machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from treeviews.pipeline.base.refusal import Refusal
from treeviews.pipeline.parsers.batched_parser import parse_or_reject
from treeviews.pipeline.parsers.sentence_parser import ParserFailedError

Words = Sequence[str]


OTHER_ERRORS = [
    IndexError("no luck"),
    RuntimeError("could not create a primitive descriptor for the matmul primitive"),
    ValueError("CUDA is a word here"),
]


def lengths_unless(bad: str, error: Exception, calls: list[int]) -> Any:
    def parse(batch: Sequence[Words]) -> list[int]:
        calls.append(len(batch))
        if any(bad in words for words in batch):
            raise error
        return [len(words) for words in batch]

    return parse


@pytest.mark.parametrize("position", [0, 5])
@pytest.mark.parametrize("error", OTHER_ERRORS)
def test_a_bad_sentence_costs_no_other_and_few_calls(error: Exception, position: int) -> None:
    batch = [["fine"] * (i + 1) for i in range(8)]
    batch[position] = ["bad"]
    calls: list[int] = []

    answers = parse_or_reject(lengths_unless("bad", error, calls), batch)

    assert answers.pop(position) == Refusal("parser_error", f"{type(error).__name__}: {error}")
    assert answers == [i + 1 for i in range(8) if i != position]
    assert sorted(calls) == [1, 1, 2, 2, 4, 4, 8]


DEVICE_ERRORS = [
    torch.AcceleratorError("device-side assert triggered"),
    RuntimeError("CUDA error: an illegal memory access was encountered"),
    RuntimeError("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED"),
]


MEMORY_ERRORS = [
    MemoryError("no room"),
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    RuntimeError("could not create a primitive"),
]


@pytest.mark.parametrize("error", DEVICE_ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_of_the_device_is_raised_at_once(error: Exception) -> None:
    calls: list[int] = []

    with pytest.raises(type(error)):
        parse_or_reject(lengths_unless("x", error, calls), [["x"], ["y"]])
    assert calls == [2]


def memory_for(num_tokens: int, error: Exception) -> Any:
    """Parses into lengths while a batch has no more tokens."""

    def parse(batch: Sequence[Words]) -> list[int]:
        if sum(map(len, batch)) > num_tokens:
            raise error
        return [len(words) for words in batch]

    return parse


@pytest.mark.parametrize("error", MEMORY_ERRORS, ids=lambda error: type(error).__name__)
def test_only_the_sentence_too_large_for_memory_is_refused(error: Exception) -> None:
    assert parse_or_reject(memory_for(20, error), [["word"] * 10] * 8) == [10] * 8
    batch = [["word"] * n for n in (10, 400, 90)]

    answers = parse_or_reject(memory_for(100, error), batch)

    detail = f"400 tokens; {type(error).__name__}: {error}"
    assert answers == [10, Refusal("out_of_memory", detail), 90]


def test_without_memory_for_a_short_sentence_the_machine_is_at_fault() -> None:
    batch = [["word"] * 5 for _ in range(3)]
    with pytest.raises(
        ParserFailedError, match=r"no memory to parse .* this process took"
    ) as raised:
        parse_or_reject(memory_for(4, MemoryError()), batch)
    assert raised.value.sentence is batch[0]
