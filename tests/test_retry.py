"""What both adapters do with a failing sentence, and with a failing machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from pipeline.parsers.base import reject_input
from pipeline.parsers.retry import is_machine_error, parse_or_reject
from pipeline.rejection import Rejection

Words = Sequence[str]


def lengths_unless(bad: str, error: Exception, calls: list[int]) -> Any:
    def parse(batch: Sequence[Words]) -> list[int]:
        calls.append(len(batch))
        if any(bad in words for words in batch):
            raise error
        return [len(words) for words in batch]

    return parse


@pytest.mark.parametrize("position", range(8))
def test_a_bad_sentence_costs_no_other_and_few_calls(position: int) -> None:
    batch = [["fine"] * (i + 1) for i in range(8)]
    batch[position] = ["bad"]
    calls: list[int] = []

    answers = parse_or_reject(lengths_unless("bad", IndexError("no luck"), calls), batch)

    assert answers.pop(position) == Rejection("parser_error", "IndexError: no luck")
    assert answers == [i + 1 for i in range(8) if i != position]
    assert sorted(calls) == [1, 1, 2, 2, 4, 4, 8]


MACHINE_ERRORS = [
    MemoryError(),
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    torch.AcceleratorError("device-side assert triggered"),
    RuntimeError("CUDA error: an illegal memory access was encountered"),
    RuntimeError("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED"),
    RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory"),
]


@pytest.mark.parametrize("error", MACHINE_ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_of_the_machine_is_raised_at_once(error: Exception) -> None:
    calls: list[int] = []

    with pytest.raises(type(error)):
        parse_or_reject(lengths_unless("x", error, calls), [["x"], ["y"]])
    assert calls == [2]


@pytest.mark.parametrize(
    "error", [RuntimeError("size mismatch"), ValueError("CUDA is a word here"), RecursionError()]
)
def test_other_errors_are_the_sentences_own(error: Exception) -> None:
    assert not is_machine_error(error)


@pytest.mark.parametrize(
    ("sentence", "rejection"),
    [
        (None, Rejection("empty")),
        ([], Rejection("empty")),
        (["a", "b", "c", "d"], Rejection("too_long", "4 tokens, limit 3")),
        (["a", ""], Rejection("empty_token", "token 2 of 2")),
        ([None, "a"], Rejection("empty_token", "token 1 of 2")),
        ((" ", "\x00", "c"), None),
    ],
)
def test_what_no_parser_is_given(sentence: Any, rejection: Rejection | None) -> None:
    assert reject_input(sentence, 3) == rejection
