"""Where and in what arithmetic parsers and models compute, and how much a parser is given at once.

``exact`` is the arithmetic of the weights. ``fast`` is whatever the device multiplies faster than
that. Eight-bit products were no faster than float32 on the AVX-512 CPU without instructions for
them where they were tried.
"""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

logger = logging.getLogger(__name__)

KNOWN = "auto, cpu, cuda or cuda:NUMBER"

MIN_BATCH_TOKENS, MAX_BATCH_TOKENS = 4_000, 64_000
"""More tokens at once only cost padding and memory."""
_BYTES_PER_TOKEN = 1 << 20
"""Of free device memory for each token of a batch: several times what activations of the bundled
parsers take, for larger ones, for other processes on the device, and for very long sentences."""


def automatic_device(name: str) -> str:
    """Returns the device that ``auto`` stands for on this machine; another name as it is.

    To be called in the process that computes, never in one that forks.
    """
    if name != "auto":
        return name
    return "cuda" if torch.cuda.is_available() else "cpu"


def resolve_device(name: str) -> str:
    """Returns torch's name of the device to parse on: of ``auto``, a GPU where there is one.

    Raises:
        ValueError: no such device, or none of this kind on this machine; says what to use.
    """
    name = automatic_device(name)
    kind, _, number = name.partition(":")
    if kind not in {"cpu", "cuda"} or (number and not (kind == "cuda" and number.isdecimal())):
        raise ValueError(f"unknown device {name!r}; known: {KNOWN}")
    num_gpus = torch.cuda.device_count() if kind == "cuda" and torch.cuda.is_available() else 0
    if kind == "cuda" and int(number or 0) >= num_gpus:
        raise ValueError(
            f"device {name!r}: torch {torch.__version__} finds {num_gpus} CUDA devices on this "
            "machine; use auto or cpu, or install a torch for this machine's GPU"
        )
    return name


def automatic_batch_tokens(device: torch.device, *, on_cpu: int) -> int:
    """Returns how many tokens a batch should have on a device.

    On a GPU as many as its free memory holds.

    Args:
        on_cpu: what fits a core's cache, which each parser knows of itself.
    """
    if device.type != "cuda":
        return on_cpu
    free_bytes, _ = torch.cuda.mem_get_info(device)
    return max(MIN_BATCH_TOKENS, min(MAX_BATCH_TOKENS, free_bytes // _BYTES_PER_TOKEN))


def fast_dtype(device: torch.device) -> torch.dtype:
    """Returns the type that a device multiplies fastest; always the same on one machine."""
    if device.type == "cuda":
        # Older GPUs emulate bfloat16, which torch's own question counts as support.
        major, _ = torch.cuda.get_device_capability(device)
        return torch.bfloat16 if major >= 8 else torch.float16
    # Other CPUs emulate bfloat16: several times slower than float32, without AVX-512 96 times.
    if not hasattr(torch.cpu, "get_capabilities"):  # before torch 2.11
        return torch.float32
    capabilities = torch.cpu.get_capabilities()
    has_instructions = capabilities.get("avx512_bf16") or capabilities.get("amx_bf16")
    return torch.bfloat16 if has_instructions else torch.float32


def warn_if_emulated(precision: str, device: torch.device) -> None:
    """Tells in the log that a device is not known to multiply in a precision by instructions.

    Args:
        precision: of a model's products; ``bfloat16`` is the one that may be emulated.
    """
    if precision == "bfloat16" and fast_dtype(device) != torch.bfloat16:
        logger.warning(
            "precision bfloat16: this machine's %s is not known to have instructions for it; "
            "without them a training takes some 20 times as long as in float32: use that, or go to "
            "a machine with avx512_bf16, amx_bf16 or a GPU of capability 8",
            device.type,
        )


def takes_bfloat16() -> bool:
    """Whether oneDNN takes bfloat16 on this processor, if slowly.

    Without it, as on x86 without AVX-512, torch has no LSTM in bfloat16.
    """
    supports = getattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: False)
    return bool(torch.backends.mkldnn.is_available() and supports())


def products_in(dtype: torch.dtype, device: torch.device) -> AbstractContextManager[Any]:
    """Returns the context in which matrix products are taken in a type; float32 is their own."""
    if dtype == torch.float32:
        return nullcontext()
    return torch.autocast(device.type, dtype=dtype)
