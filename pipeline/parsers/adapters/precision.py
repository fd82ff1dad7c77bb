"""In what arithmetic parsers compute, and how their answers' origin says so.

``exact`` is the arithmetic of the weights. ``fast`` is whatever the device multiplies faster than
that. Eight-bit products were no faster than float32 on the AVX-512 CPU without instructions for
them where they were tried.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from pipeline.parsers.adapters.base import PRECISIONS


def dtype_for(precision: str, device: torch.device, *, exact: torch.dtype) -> torch.dtype:
    """Returns the type that an encoder's matrix products are taken in.

    Args:
        precision: ``exact`` or ``fast``.
        exact: the type of the weights.

    Raises:
        ValueError: another precision.
    """
    if precision not in PRECISIONS:
        raise ValueError(f"unknown precision {precision!r}; known: {', '.join(PRECISIONS)}")
    return exact if precision == "exact" else fast_dtype(device)


def fast_dtype(device: torch.device) -> torch.dtype:
    """Returns the type that a device multiplies fastest; always the same on one machine."""
    if device.type == "cuda":
        # Older GPUs emulate bfloat16, which torch's own question counts as support.
        major, _ = torch.cuda.get_device_capability(device)
        return torch.bfloat16 if major >= 8 else torch.float16
    # Other CPUs emulate bfloat16, several times slower than float32.
    capabilities = torch.cpu.get_capabilities()
    multiplies_bfloat16 = capabilities.get("avx512_bf16") or capabilities.get("amx_bf16")
    return torch.bfloat16 if multiplies_bfloat16 else torch.float32


def name_of(dtype: torch.dtype) -> str:
    """Returns ``float32``, ``bfloat16`` or ``float16``."""
    return str(dtype).removeprefix("torch.")


def products_in(dtype: torch.dtype, device: torch.device) -> AbstractContextManager[Any]:
    """Returns the context in which matrix products are taken in a type; float32 is their own."""
    if dtype == torch.float32:
        return nullcontext()
    return torch.autocast(device.type, dtype=dtype)


def checksum_in(checksum: str, dtype: torch.dtype, *, exact: torch.dtype) -> str:
    """Returns a parser's checksum, which names its arithmetic where this is not the weights'."""
    return checksum if dtype == exact else f"{checksum}-{name_of(dtype)}"
