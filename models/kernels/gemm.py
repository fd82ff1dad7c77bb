"""Which library multiplies float32 matrices on the CPU, chosen by measured speed and error.

PyTorch sends a product of float32 matrices to the BLAS it was built with. Allowed to use bfloat16
inside, it sends them to oneDNN instead: on some processors that is faster and still accurate to
float32, on others it is slower, or really rounds to eight bits. No flag of the processor tells
which, so both are tried. Products in float64 or bfloat16 and those on a GPU are not concerned.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import Tensor

GemmBackend = Literal["default", "onednn"]

_PRECISIONS: dict[GemmBackend, str] = {"default": "ieee", "onednn": "bf16"}
"""What float32 products may use inside; see `torch.backends` on ``fp32_precision``."""


@dataclass(frozen=True, slots=True)
class GemmMeasurement:
    """What one backend made of a product of square matrices."""

    gflops: float
    """10⁹ floating-point operations a second, a multiplication and an addition counting as two."""
    error: float
    """|C - AB| / |AB| in the Frobenius norm, against the product in float64; float32 rounding
    gives some 10⁻⁷, bfloat16 some 10⁻³."""


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
    """Returns what each available backend makes of the same product, as it is now set up to.

    The backends take turns and each is judged by its best time, so that a machine busy with
    something else for a moment does not decide. The backend in use stays in use.

    Args:
        size: rows and columns of the matrices.
        repeats: times each backend multiplies, after once to warm up.
        dtype: of the matrices; backends differ for float32 alone.

    Raises:
        ValueError: size or repeats below one.
    """
    if size < 1 or repeats < 1:
        raise ValueError(f"size and repeats must be at least 1, not {size} and {repeats}")
    generator = torch.Generator().manual_seed(0)
    left, right = (torch.randn(size, size, generator=generator).to(dtype) for _ in range(2))
    exact = left.double() @ right.double()
    seconds: dict[GemmBackend, float] = {}
    errors: dict[GemmBackend, float] = {}
    with gemm_kept():
        for turn in range(repeats + 1):
            for backend in available_backends():
                use_gemm(backend)
                took, product = _timed(lambda: left @ right)
                if turn == 0:
                    errors[backend] = float((product.double() - exact).norm() / exact.norm())
                else:
                    seconds[backend] = min(took, seconds.get(backend, took))
    return {
        backend: GemmMeasurement(2 * size**3 / seconds[backend] / 1e9, errors[backend])
        for backend in seconds
    }


def choose_gemm(*, max_error: float = 1e-5, margin: float = 1.15) -> GemmBackend:
    """Returns the backend to use on this machine with the threads now set; changes nothing.

    Args:
        max_error: largest error of a backend that may be chosen; see `GemmMeasurement.error`.
        margin: how many times faster than the default another backend must be. Two that are
            equally fast then do not take turns from run to run, and with them the last bits of
            results.
    """
    return _choice(measure_gemm(), max_error=max_error, margin=margin)


def _choice(
    measured: dict[GemmBackend, GemmMeasurement], *, max_error: float, margin: float
) -> GemmBackend:
    enough = margin * measured["default"].gflops
    rivals = [
        backend
        for backend, measurement in measured.items()
        if backend != "default" and measurement.error <= max_error and measurement.gflops >= enough
    ]
    return max(rivals, key=lambda backend: measured[backend].gflops, default="default")


def _timed(product: Callable[[], Tensor]) -> tuple[float, Tensor]:
    started = time.perf_counter()
    result = product()
    return time.perf_counter() - started, result


def _switch() -> Any:
    """Returns the object whose ``fp32_precision`` chooses; None before PyTorch 2.9."""
    return getattr(torch.backends.mkldnn, "matmul", None)
