"""Which arithmetic is a device's fast one."""

import pytest
import torch

from pipeline.parsers.devices import fast_dtype


@pytest.mark.parametrize(
    ("capability", "expected"),
    [((7, 0), torch.float16), ((7, 5), torch.float16), ((8, 0), torch.bfloat16)],
)
def test_a_gpu_that_only_emulates_bfloat16_computes_in_float16(
    monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int], expected: torch.dtype
) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: True)
    assert fast_dtype(torch.device("cuda")) == expected


@pytest.mark.parametrize("instructions", ["avx512_bf16", "amx_bf16", "avx512_vnni"])
def test_a_cpu_computes_in_bfloat16_where_it_has_instructions_for_it(
    monkeypatch: pytest.MonkeyPatch, instructions: str
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {instructions: True})
    expected = torch.bfloat16 if instructions.endswith("bf16") else torch.float32
    assert fast_dtype(torch.device("cpu")) == expected
