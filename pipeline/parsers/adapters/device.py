"""Where parsers and models run, and how much a parser is given at once there."""

from __future__ import annotations

import torch

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
    found = torch.cuda.device_count() if kind == "cuda" and torch.cuda.is_available() else 0
    if kind == "cuda" and int(number or 0) >= found:
        raise ValueError(
            f"device {name!r}: torch {torch.__version__} finds {found} CUDA devices on this "
            "machine; use auto or cpu, or install a torch for this machine's GPU"
        )
    return name


def automatic_batch_tokens(device: str) -> int | None:
    """Returns how many tokens a batch should have on a device; None: what suits the parser.

    On a CPU that is what fits a core's cache, which each parser knows of itself; on a GPU as many
    as its free memory holds.

    Args:
        device: as `resolve_device` returns it.
    """
    if not device.startswith("cuda"):
        return None
    free_bytes, _ = torch.cuda.mem_get_info(torch.device(device))
    return max(MIN_BATCH_TOKENS, min(MAX_BATCH_TOKENS, free_bytes // _BYTES_PER_TOKEN))
