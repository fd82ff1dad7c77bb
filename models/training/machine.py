"""What a run records about the machine it ran on."""

from __future__ import annotations

import platform
import resource
import sys

import numpy as np
import pyarrow as pa
import torch

GIB = 1 << 30


def peak_memory_gib(device: torch.device) -> float:
    """Returns the most memory held so far: the device's on CUDA, else the process' own."""
    if device.type == "cuda":
        return float(torch.cuda.max_memory_allocated(device) / GIB)
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss: bytes on macOS, KiB elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / GIB


def versions() -> dict[str, str]:
    """Returns the versions that a numerical result depends on."""
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "pyarrow": pa.__version__,
    }
