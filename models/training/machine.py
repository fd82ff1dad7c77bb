"""What a run records about the machine it ran on."""

from __future__ import annotations

import platform
import resource
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from models.kernels.gemm import GemmBackend, choose_gemm, use_gemm
from models.training.settings import GemmChoice
from models.variants import Precision

GIB = 1 << 30


def set_gpu_precision(precision: Precision, device: torch.device) -> None:
    """Lets a GPU round the factors of float32 products to TF32, or forbids it, from now on.

    A CPU has no TF32: there nothing is set, and "tf32" computes in float32.
    """
    if device.type == "cuda":
        rounding = "tf32" if precision == "tf32" else "ieee"
        backends: tuple[Any, ...] = (torch.backends.cuda.matmul, torch.backends.cudnn)
        for backend in backends:
            if hasattr(backend, "fp32_precision"):
                backend.fp32_precision = rounding
            else:  # PyTorch before 2.9
                backend.allow_tf32 = precision == "tf32"


def gemm_for(choice: GemmChoice, device: torch.device) -> GemmBackend:
    """Returns the backend of float32 products that a choice means here; "auto" measures.

    Products on a GPU have no such choice: "default".
    """
    if device.type != "cpu":
        return "default"
    return choose_gemm() if choice == "auto" else choice


def set_gemm(choice: GemmChoice, device: torch.device) -> GemmBackend:
    """Has float32 products on a CPU made by the chosen backend from now on; returns which.

    Raises:
        ValueError: this PyTorch cannot choose that backend.
    """
    backend = gemm_for(choice, device)
    if device.type == "cpu":
        use_gemm(backend)
    return backend


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
