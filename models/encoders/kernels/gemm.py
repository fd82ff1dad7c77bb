"""Which library multiplies float32 matrices on the CPU, chosen by processor and measured error.

PyTorch sends a product of float32 matrices to the BLAS it was built with. Allowed to use bfloat16
inside, it sends them to oneDNN instead: on some processors that is faster and still accurate to
float32, on others it is slower, or really rounds to eight bits, which is tried. Products in float64
or bfloat16 and those on a GPU are not concerned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from treeviews.pipeline.base.machine import mkl_is_fast

GemmBackend = Literal["default", "onednn"]

_PRECISIONS: dict[GemmBackend, str] = {"default": "ieee", "onednn": "bf16"}
"""What float32 products may use inside; see `torch.backends` on ``fp32_precision``."""

MAX_ERROR = 1e-5
"""Largest error, see `product_errors`, of products that still count as float32."""

_LEVEL_ROWS = (8, 64, 512)
"""Nodes of a level; a batch of 400 sentences has levels of a few nodes up to some hundreds."""


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


def training_products(width: int) -> list[tuple[Tensor, Tensor]]:
    """Returns the factors of an encoder's products in a training step.

    These are states [n, H] by weights on the way up, their gradients by the same weights on the
    way down, level by level, and all gradients by all states once for the weights' gradient. Each
    kind reads its factors in another order, and a backend may be fast at one and slow at another.

    Args:
        width: H, rows and columns of the weights.
    """
    nodes = sum(_LEVEL_ROWS)
    weight, states, gradients = random_matrices((width, width), (nodes, width), (nodes, width))
    up = [(level, weight.T) for level in states.split(_LEVEL_ROWS)]
    down = [(level, weight) for level in gradients.split(_LEVEL_ROWS)]
    return [*up, *down, (gradients.T, states)]


def choose_gemm(*, width: int = 1024, max_error: float = MAX_ERROR) -> GemmBackend:
    """Returns the backend to use on this machine; changes nothing.

    The processor and the error decide, which are the same in every run. Speed measured would not
    be: where one backend is half as fast again, runs beside other work took now one, now the other.

    Args:
        width: as `training_products` has it.
        max_error: largest error of a backend that may be chosen; see `product_errors`.
    """
    others = [backend for backend in available_backends() if backend != "default"]
    if mkl_is_fast() or not others:
        return "default"
    errors = product_errors(training_products(width))
    return next((backend for backend in others if errors[backend] <= max_error), "default")


def random_matrices(*shapes: tuple[int, int]) -> list[Tensor]:
    """Returns the same normal numbers in every call."""
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator) for shape in shapes]


def product_errors(products: Sequence[tuple[Tensor, Tensor]]) -> dict[GemmBackend, float]:
    """Returns each backend's error, of its worst product; PyTorch is else left as it is set up.

    It is |C - AB| / |AB| in the Frobenius norm, against the product in float64; float32 rounding
    gives some 10⁻⁷, bfloat16 some 10⁻³.
    """
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


def _switch() -> Any:
    """Returns the object whose ``fp32_precision`` chooses; None before PyTorch 2.9."""
    return getattr(torch.backends.mkldnn, "matmul", None)
