"""Which library multiplies float32 matrices on the CPU, chosen by processor and measured error.

PyTorch sends a product of float32 matrices to the BLAS it was built with. Allowed to use bfloat16
inside, it sends them to oneDNN instead: on some processors that is faster and still accurate to
float32, on others it is slower, or really rounds to eight bits, which is tried. Products in float64
or bfloat16 and those on a GPU are not concerned.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from pipeline.processor import mkl_is_at_home

GemmBackend = Literal["default", "onednn"]

_PRECISIONS: dict[GemmBackend, str] = {"default": "ieee", "onednn": "bf16"}
"""What float32 products may use inside; see `torch.backends` on ``fp32_precision``."""

MAX_ERROR = 1e-5
"""Largest `GemmMeasurement.error` of products that still count as float32."""

_LEVEL_ROWS = (8, 64, 512)
"""Nodes of a level; a batch of 400 sentences has levels of a few nodes up to some hundreds."""


@dataclass(frozen=True, slots=True)
class GemmMeasurement:
    """What one backend made of some products."""

    gflops: float
    """10⁹ floating-point operations a second, a multiplication and an addition counting as two."""
    error: float
    """|C - AB| / |AB| in the Frobenius norm, against the product in float64, of the worst product;
    float32 rounding gives some 10⁻⁷, bfloat16 some 10⁻³."""


def available_backends() -> tuple[GemmBackend, ...]:
    """Returns the backends that this PyTorch can choose between, the default first."""
    can_choose = torch.backends.mkldnn.is_available() and _switch() is not None
    return get_args(GemmBackend) if can_choose else ("default",)


def use_gemm(backend: GemmBackend) -> None:
    """Has all later products of float32 matrices on the CPU made by this backend.

    Raises:
        ValueError: no such backend, or not with this PyTorch.
    """
    if backend not in get_args(GemmBackend):
        raise ValueError(f"gemm must be one of {get_args(GemmBackend)}, not {backend!r}")
    available = available_backends()
    if backend not in available:
        raise ValueError(
            f"PyTorch {torch.__version__} cannot choose the gemm backend {backend!r}; set gemm to "
            "default, or install PyTorch 2.9 or later with oneDNN"
        )
    if len(available) > 1:
        _switch().fp32_precision = _PRECISIONS[backend]


@contextmanager
def gemm_kept() -> Iterator[None]:
    """Has the backend that is in use at the beginning in use again at the end."""
    if len(available_backends()) == 1:
        yield
        return
    before = _switch().fp32_precision
    try:
        yield
    finally:
        _switch().fp32_precision = before


def measure_gemm(
    *, size: int = 1024, repeats: int = 5, dtype: torch.dtype = torch.float32
) -> dict[GemmBackend, GemmMeasurement]:
    """Returns what each available backend makes of one product of two square matrices.

    Products on which backends are judged, here and in `measure_training_products`, are made as
    PyTorch is now set up to. The backends take turns and each is judged by its best turn, so that
    a machine busy with something else for a moment does not decide. The backend in use stays in
    use.

    Args:
        size: rows and columns of the matrices.
        repeats: times each backend multiplies, after once to warm up.
        dtype: of the matrices; backends differ for float32 alone.

    Raises:
        ValueError: size or repeats below one.
    """
    if size < 1 or repeats < 1:
        raise ValueError(f"size and repeats must be at least 1, not {size} and {repeats}")
    left, right = (matrix.to(dtype) for matrix in _random_matrices((size, size), (size, size)))
    return _measured([(left, right)], repeats)


def measure_training_products(
    *, width: int = 1024, repeats: int = 5
) -> dict[GemmBackend, GemmMeasurement]:
    """Returns what each available backend makes of the products of an encoder's training step.

    These are states [n, H] by weights on the way up, their gradients by the same weights on the
    way down, level by level, and all gradients by all states once for the weights' gradient. Each
    kind reads its factors in another order, and a backend may be fast at one and slow at another.

    Args:
        width: H, rows and columns of the weights.
        repeats: times each backend makes all of them, after once to warm up.

    Raises:
        ValueError: width or repeats below one.
    """
    if width < 1 or repeats < 1:
        raise ValueError(f"width and repeats must be at least 1, not {width} and {repeats}")
    return _measured(_training_products(width), repeats)


def _training_products(width: int) -> list[tuple[Tensor, Tensor]]:
    nodes = sum(_LEVEL_ROWS)
    weight, states, gradients = _random_matrices((width, width), (nodes, width), (nodes, width))
    up = [(level, weight.T) for level in states.split(_LEVEL_ROWS)]
    down = [(level, weight) for level in gradients.split(_LEVEL_ROWS)]
    return [*up, *down, (gradients.T, states)]


def choose_gemm(*, width: int = 1024, max_error: float = MAX_ERROR) -> GemmBackend:
    """Returns the backend to use on this machine; changes nothing.

    The processor and the error decide, which are the same in every run. Speed measured would not
    be: where one backend is half as fast again, runs beside other work took now one, now the other.

    Args:
        width: as `measure_training_products` has it.
        max_error: largest error of a backend that may be chosen; see `GemmMeasurement.error`.
    """
    others = [backend for backend in available_backends() if backend != "default"]
    if mkl_is_at_home() or not others:
        return "default"
    errors = _errors(_training_products(width))
    return next((backend for backend in others if errors[backend] <= max_error), "default")


def fastest_gemm(*, width: int = 1024, max_error: float = MAX_ERROR) -> GemmBackend:
    """Returns the backend that is the fastest at this moment among those that are exact."""
    measured = measure_training_products(width=width)
    exact = [
        backend
        for backend, measurement in measured.items()
        if backend == "default" or measurement.error <= max_error
    ]
    return max(exact, key=lambda backend: measured[backend].gflops)


def _random_matrices(*shapes: tuple[int, int]) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator) for shape in shapes]


def _measured(
    products: Sequence[tuple[Tensor, Tensor]], repeats: int
) -> dict[GemmBackend, GemmMeasurement]:
    """Returns what each backend makes of products given by their factors, by their total time."""
    seconds: dict[GemmBackend, float] = {}
    errors = _errors(products)
    with gemm_kept():
        for _ in range(repeats):
            for backend in available_backends():
                use_gemm(backend)
                took = _seconds(products)
                seconds[backend] = min(took, seconds.get(backend, took))
    operations = sum(2 * left.numel() * right.shape[1] for left, right in products)
    return {
        backend: GemmMeasurement(operations / took / 1e9, errors[backend])
        for backend, took in seconds.items()
    }


def _errors(products: Sequence[tuple[Tensor, Tensor]]) -> dict[GemmBackend, float]:
    """Returns the largest error of each backend."""
    errors: dict[GemmBackend, float] = {}
    with gemm_kept():
        for backend in available_backends():
            use_gemm(backend)
            # torch's max, as Python's would pass over an error that is no number.
            errors[backend] = float(torch.stack([_error(*factors) for factors in products]).max())
    return errors


def _error(left: Tensor, right: Tensor) -> Tensor:
    exact = left.double() @ right.double()
    relative: Tensor = ((left @ right).double() - exact).norm() / exact.norm()
    return relative


def _seconds(products: Sequence[tuple[Tensor, Tensor]]) -> float:
    started = time.perf_counter()
    for left, right in products:
        torch.mm(left, right)
    return time.perf_counter() - started


def _switch() -> Any:
    """Returns the object whose ``fp32_precision`` chooses; None before PyTorch 2.9."""
    return getattr(torch.backends.mkldnn, "matmul", None)
