"""Which device a name stands for, its fast arithmetic, and how much a parser is given there."""

from __future__ import annotations

import pytest
import torch

from treeviews.pipeline.parsers.devices import (
    automatic_batch_tokens,
    automatic_device,
    resolve_device,
)


@pytest.fixture(params=[0, 2])
def num_gpus(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    number: int = request.param
    monkeypatch.setattr(torch.cuda, "is_available", lambda: number > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: number)
    return number


def test_a_named_device_is_not_replaced(num_gpus: int) -> None:
    assert resolve_device("auto") == automatic_device("auto") == ("cuda" if num_gpus else "cpu")
    assert resolve_device("cpu") == "cpu"
    if num_gpus:
        assert resolve_device("cuda:1") == "cuda:1"
    with pytest.raises(ValueError, match=f"'cuda:2': torch .* finds {num_gpus} CUDA devices"):
        resolve_device("cuda:2")


@pytest.mark.parametrize(("free_gib", "tokens"), [(0.5, 4_000), (16, 16_384), (140, 64_000)])
def test_a_gpu_is_given_what_its_memory_holds(
    free_gib: float, tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    free_bytes = int(free_gib * (1 << 30))
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free_bytes, 1 << 40))
    assert automatic_batch_tokens(torch.device("cuda:0"), on_cpu=7) == tokens
    assert automatic_batch_tokens(torch.device("cpu"), on_cpu=7) == 7
