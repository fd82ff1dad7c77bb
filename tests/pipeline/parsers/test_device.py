"""Which device a name stands for, and how much a parser is given there."""

from __future__ import annotations

import pytest
import torch

from pipeline.parsers.adapters.device import (
    automatic_batch_tokens,
    automatic_device,
    fast_dtype,
    resolve_device,
    warn_if_emulated,
)
from pipeline.parsing.parse_shard import ParseShardJob


@pytest.fixture(params=[0, 2])
def num_gpus(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    number: int = request.param
    monkeypatch.setattr(torch.cuda, "is_available", lambda: number > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: number)
    return number


def test_auto_is_a_gpu_where_there_is_one(num_gpus: int) -> None:
    assert resolve_device("auto") == automatic_device("auto") == ("cuda" if num_gpus else "cpu")


def test_a_named_device_is_not_replaced(num_gpus: int) -> None:
    assert resolve_device("cpu") == "cpu"
    if num_gpus:
        assert resolve_device("cuda") == "cuda"
        assert resolve_device("cuda:1") == "cuda:1"
    else:
        with pytest.raises(ValueError, match=r"'cuda': torch .* finds 0 CUDA .*; use auto or cpu"):
            resolve_device("cuda")
    with pytest.raises(ValueError, match=f"'cuda:2': torch .* finds {num_gpus} CUDA devices"):
        resolve_device("cuda:2")


@pytest.mark.parametrize("name", ["", "gpu", "cpu:1", "cuda:x", "CUDA"])
def test_an_unknown_device_is_an_error(name: str) -> None:
    with pytest.raises(ValueError, match=r"unknown device .*; known: auto, cpu, cuda or cuda:NUM"):
        resolve_device(name)


@pytest.mark.parametrize(
    ("precision", "capabilities", "is_told"),
    [
        ("bfloat16", {"avx512_bf16": True}, False),
        ("bfloat16", {"amx_bf16": True}, False),
        ("bfloat16", {"avx512_f": True}, True),
        ("float32", {}, False),
    ],
)
def test_a_precision_that_is_only_emulated_is_told(
    precision: str,
    capabilities: dict[str, bool],
    is_told: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities, raising=False)
    warn_if_emulated(precision, torch.device("cpu"))
    assert ("some 20 times as long as in float32" in caplog.text) is is_told


def test_an_older_torch_counts_as_without_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    assert fast_dtype(torch.device("cpu")) == torch.float32


@pytest.mark.parametrize(("free_gib", "tokens"), [(0.5, 4_000), (16, 16_384), (140, 64_000)])
def test_a_gpu_is_given_what_its_memory_holds(
    free_gib: float, tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    free_bytes = int(free_gib * (1 << 30))
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free_bytes, 1 << 40))
    assert automatic_batch_tokens("cuda:0") == tokens
    assert automatic_batch_tokens("cpu") is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"precision": "half"}, "precision must be 'exact' or 'fast', got 'half'"),
        ({"threads": 0}, "threads must be at least 1, got 0"),
        ({"batch_tokens": -1}, "batch_tokens must be at least 0, got -1"),
        ({"batch_token": 3}, r"unknown parse job fields \['batch_token'\]"),
    ],
)
def test_options_out_of_range_are_errors(fields: dict[str, object], message: str) -> None:
    job = {"stage": "dependencies", "parser": "p", "sentences": "s", "output": "o", "number": 0}
    with pytest.raises(ValueError, match=message):
        ParseShardJob.from_dict(job | fields)
