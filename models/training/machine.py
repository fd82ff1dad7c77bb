"""What a training sets for its process and puts back, and what it records of its machine."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from treeviews.models.config.training_config import Precision
from treeviews.models.encoders.kernels.gemm import GemmBackend, choose_gemm, gemm_kept, use_gemm
from treeviews.models.training.job import GemmChoice
from treeviews.pipeline.base.machine import peak_bytes

GIB = 1 << 30

_SWITCH = "fp32_precision"
_OLD_SWITCH = "allow_tf32"
"""Before PyTorch 2.9."""


def peak_memory_gib(device: torch.device) -> float:
    """Returns the most memory held so far: the device's on CUDA, else the process' own."""
    if device.type == "cuda":
        return float(torch.cuda.max_memory_allocated(device) / GIB)
    return peak_bytes() / GIB


def versions() -> dict[str, str]:
    """Returns the versions that a numerical result depends on."""
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "pyarrow": pa.__version__,
    }


@contextmanager
def process_state_kept(device: torch.device) -> Iterator[None]:
    """Has the random state, the matrix product and TF32 as they were again at the end.

    Args:
        device: the one whose random state is used, beside the CPU's.
    """
    devices: list[int] = []
    if device.type == "cuda":
        devices.append(torch.cuda.current_device() if device.index is None else device.index)
    with torch.random.fork_rng(devices=devices), gemm_kept(), _gpu_precision_kept():
        yield


def set_gpu_precision(precision: Precision, device: torch.device) -> None:
    """Lets a GPU round the factors of float32 products to TF32, or forbids it, from now on.

    A CPU has no TF32: there nothing is set, and "tf32" computes in float32.
    """
    if device.type == "cuda":
        wanted = precision == "tf32"
        for backend, name in _gpu_switches():
            setattr(backend, name, wanted if name == _OLD_SWITCH else "tf32" if wanted else "ieee")


@contextmanager
def _gpu_precision_kept() -> Iterator[None]:
    before = [(backend, name, getattr(backend, name)) for backend, name in _gpu_switches()]
    try:
        yield
    finally:
        for backend, name, value in before:
            setattr(backend, name, value)


def _gpu_switches() -> list[tuple[Any, str]]:
    """Returns the two libraries, each with the name of what allows TF32 there."""
    backends: tuple[Any, ...] = (torch.backends.cuda.matmul, torch.backends.cudnn)
    return [(b, _SWITCH if hasattr(b, _SWITCH) else _OLD_SWITCH) for b in backends]


def gemm_for(choice: GemmChoice, device: torch.device) -> GemmBackend:
    """Returns the backend of float32 products that a choice means here; `choose_gemm` is "auto".

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
