"""How fast and how exact the backends of `models.encoders.kernels.gemm` multiply in float32."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from models.encoders.kernels.gemm import (
    MAX_ERROR,
    GemmBackend,
    available_backends,
    gemm_kept,
    product_errors,
    random_matrices,
    training_products,
    use_gemm,
)

SLOW_SECONDS, SLOW_TURNS = 1.0, 2
"""After two turns this long a backend takes no other: so slow is arithmetic that is emulated."""


@dataclass(frozen=True, slots=True)
class GemmMeasurement:
    """What one backend made of some products."""

    gflops: float
    """10⁹ floating-point operations a second, a multiplication and an addition counting as two."""
    error: float
    """Of the worst product; see `product_errors`."""


def measure_gemm(
    *, size: int = 1024, repeats: int = 5, dtype: torch.dtype = torch.float32
) -> dict[GemmBackend, GemmMeasurement]:
    """Returns what each available backend makes of one product of two square matrices.

    Products on which backends are judged, here and in `measure_training_products`, are made as
    PyTorch is now set up to. The backends take turns and each is judged by its best turn, so that
    a machine busy with something else for a moment does not decide; one that took `SLOW_SECONDS`
    for each of two turns takes no other. The backend in use stays in use.

    Args:
        size: rows and columns of the matrices.
        repeats: times each backend multiplies, after once to warm up.
        dtype: of the matrices; backends differ for float32 alone.

    Raises:
        ValueError: size or repeats below one.
    """
    if size < 1 or repeats < 1:
        raise ValueError(f"size and repeats must be at least 1, not {size} and {repeats}")
    left, right = (matrix.to(dtype) for matrix in random_matrices((size, size), (size, size)))
    return _measured([(left, right)], repeats)


def measure_training_products(
    *, width: int = 1024, repeats: int = 5
) -> dict[GemmBackend, GemmMeasurement]:
    """Returns what each available backend makes of the products of an encoder's training step.

    Args:
        width: as `training_products` has it.
        repeats: times each backend makes all of them, after once to warm up.

    Raises:
        ValueError: width or repeats below one.
    """
    if width < 1 or repeats < 1:
        raise ValueError(f"width and repeats must be at least 1, not {width} and {repeats}")
    return _measured(training_products(width), repeats)


def fastest_gemm(*, width: int = 1024, max_error: float = MAX_ERROR) -> GemmBackend:
    """Returns the backend that is the fastest at this moment among those that are exact."""
    measured = measure_training_products(width=width)
    exact = [
        backend
        for backend, measurement in measured.items()
        if backend == "default" or measurement.error <= max_error
    ]
    return max(exact, key=lambda backend: measured[backend].gflops)


def _measured(
    products: Sequence[tuple[Tensor, Tensor]], repeats: int
) -> dict[GemmBackend, GemmMeasurement]:
    """Returns what each backend makes of products given by their factors, by their total time."""
    seconds: dict[GemmBackend, float] = {}
    errors = product_errors(products)
    with gemm_kept():
        for turn in range(repeats):
            for backend in available_backends():
                if turn >= SLOW_TURNS and seconds[backend] >= SLOW_SECONDS:
                    continue
                use_gemm(backend)
                took = _seconds(products)
                seconds[backend] = min(took, seconds.get(backend, took))
    operations = sum(2 * left.numel() * right.shape[1] for left, right in products)
    return {
        backend: GemmMeasurement(operations / took / 1e9, errors[backend])
        for backend, took in seconds.items()
    }


def _seconds(products: Sequence[tuple[Tensor, Tensor]]) -> float:
    started = time.perf_counter()
    for left, right in products:
        torch.mm(left, right)
    return time.perf_counter() - started
