"""Which implementation of the cells' steps a tensor's device and type can have."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version

import torch
from torch import Tensor

from models.encoders.kernels.cells import Cells

LEAST_CAPABILITY = {torch.float32: (8, 0), torch.bfloat16: (8, 0)}
"""CUDA compute capability that the kernels are meant for, by the buffers' type."""

OLDEST_TRITON = (3, 4)
"""Its atomic addition and its compiler's options are what the kernels use."""


def cells_for(tensor: Tensor) -> Cells:
    """Returns the implementation for tensors like this one.

    On CUDA the Triton kernels, where Triton is installed and the device can run them; float64, in
    which nobody trains, stays with PyTorch.
    """
    if tensor.is_cuda and tensor.dtype in LEAST_CAPABILITY and has_triton():
        capability = torch.cuda.get_device_capability(tensor.device)
        if capability >= LEAST_CAPABILITY[tensor.dtype]:
            from models.encoders.kernels.fused import FusedCells

            return FusedCells()
    from models.encoders.kernels.eager import EagerCells

    return EagerCells()


@cache
def has_triton() -> bool:
    """Returns whether a Triton that can compile the kernels is installed; it is not imported."""
    try:
        major, minor = version("triton").split(".")[:2]
    except PackageNotFoundError:
        return False
    return (int(major), int(minor)) >= OLDEST_TRITON
