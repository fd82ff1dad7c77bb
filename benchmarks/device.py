"""The device that a benchmark computes on."""

from __future__ import annotations

import torch

from benchmarks.report import LackingError


def device_of(name: str) -> torch.device:
    """Returns the device that ``auto``, ``cpu`` or ``cuda`` means here.

    Raises:
        LackingError: there is none.
    """
    has_cuda = torch.cuda.is_available()
    if name == "cuda" and not has_cuda:
        raise LackingError("--device cuda: PyTorch finds no CUDA device here; use --device cpu")
    return torch.device("cuda" if has_cuda and name != "cpu" else "cpu")


def device_name(device: torch.device) -> str:
    """Returns what a table calls the device."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"


def wait_for(device: torch.device) -> None:
    """Returns when the device has done all it was given; a CPU has."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
