"""In what arithmetic parsers compute, and how their answers' origin says so.

``exact`` is the arithmetic of the weights. ``fast`` is whatever the device multiplies faster than
that. Eight-bit products were no faster than float32 on the AVX-512 CPU without instructions for
them where they were tried.
"""

from __future__ import annotations

import torch

PRECISIONS = ("exact", "fast")


def dtype_for(
    precision: str, device: torch.device, *, exact: torch.dtype = torch.float32
) -> torch.dtype:
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


def checksum_in(checksum: str, dtype: torch.dtype, *, exact: torch.dtype = torch.float32) -> str:
    """Returns a parser's checksum, which names its arithmetic where this is not the weights'."""
    return checksum if dtype == exact else f"{checksum}-{name_of(dtype)}"
