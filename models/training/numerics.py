"""How a process multiplies matrices in a training, and what is recorded of its machine.

PyTorch sends a product of float32 matrices on a CPU to the BLAS it was built with. Allowed to use
bfloat16 inside, it sends them to oneDNN instead: on some processors that is faster and still
accurate to float32, on others it is slower, or really rounds to eight bits, which is tried.
Products in float64 or bfloat16 and those on a GPU are not concerned.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from treeviews.models.config.training_config import Precision
from treeviews.models.training.training_job import GemmChoice
from treeviews.pipeline.base.machine import mkl_is_fast, peak_bytes

GemmBackend = Literal["default", "onednn"]

_PRECISIONS: dict[GemmBackend, str] = {"default": "ieee", "onednn": "bf16"}
"""What float32 products may use inside; see `torch.backends` on ``fp32_precision``."""

MAX_ERROR = 1e-5
"""Largest error, see `product_errors`, of products that still count as float32."""

PRODUCTS_WIDTH = 1024
"""Rows and columns of the weights that are tried."""

_LEVEL_ROWS = (8, 64, 512)
"""Nodes of a level; a batch of 400 sentences has levels of a few nodes up to some hundreds."""


def available_backends() -> tuple[GemmBackend, ...]:
    """Returns the backends that this PyTorch can choose between, the default first."""
    can_choose = torch.backends.mkldnn.is_available() and _switch() is not None
    return get_args(GemmBackend) if can_choose else ("default",)


def use_gemm(backend: GemmBackend) -> None:
    """Has all later products of float32 matrices on the CPU made by this backend.

    Raises:
        ValueError: not with this PyTorch.
    """
    available = available_backends()
    if backend not in available:
        raise ValueError(
            f"PyTorch {torch.__version__} cannot choose the gemm backend {backend!r}; set gemm to "
            "default, or install PyTorch 2.9 or later with oneDNN"
        )
    if len(available) > 1:
        _switch().fp32_precision = _PRECISIONS[backend]


@contextmanager
def preserve_gemm() -> Iterator[None]:
    """Has the backend that is in use at the beginning in use again at the end."""
    before = getattr(_switch(), "fp32_precision", None)
    try:
        yield
    finally:
        if before is not None:
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
    generator = torch.Generator().manual_seed(0)
    weight, states, gradients = (
        torch.randn(rows, width, generator=generator) for rows in (width, nodes, nodes)
    )
    up = [(level, weight.T) for level in states.split(_LEVEL_ROWS)]
    down = [(level, weight) for level in gradients.split(_LEVEL_ROWS)]
    return [*up, *down, (gradients.T, states)]


def choose_gemm() -> GemmBackend:
    """Returns the backend to use on this machine; changes nothing.

    The processor and the error decide, which are the same in every run. Speed measured would not
    be: where one backend is half as fast again, runs beside other work took now one, now the other.
    """
    if mkl_is_fast() or len(available_backends()) == 1:
        return "default"
    error = product_errors(training_products(PRODUCTS_WIDTH))["onednn"]
    return "onednn" if error <= MAX_ERROR else "default"


def product_errors(products: Sequence[tuple[Tensor, Tensor]]) -> dict[GemmBackend, float]:
    """Returns each backend's error, of its worst product; PyTorch is else left as it is set up.

    It is |C - AB| / |AB| in the Frobenius norm, against the product in float64; float32 rounding
    gives some 10⁻⁷, bfloat16 some 10⁻³.
    """

    def error(left: Tensor, right: Tensor) -> Tensor:
        exact = left.double() @ right.double()
        relative: Tensor = ((left @ right).double() - exact).norm() / exact.norm()
        return relative

    errors: dict[GemmBackend, float] = {}
    with preserve_gemm():
        for backend in available_backends():
            use_gemm(backend)
            # torch's max, as Python's would pass over an error that is no number.
            errors[backend] = float(torch.stack([error(*factors) for factors in products]).max())
    return errors


def _switch() -> Any:
    """Returns the object whose ``fp32_precision`` chooses; None before PyTorch 2.9."""
    return getattr(torch.backends.mkldnn, "matmul", None)


# A GPU, and the process.


GIB = 1 << 30


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


def set_gpu_precision(precision: Precision, device: torch.device) -> None:
    """Lets a GPU round the factors of float32 products to TF32, or forbids it, from now on.

    A CPU has no TF32: there nothing is set, and "tf32" computes in float32.
    """
    if device.type != "cuda":
        return
    is_wanted = precision == "tf32"
    backends: tuple[Any, ...] = (torch.backends.cuda.matmul, torch.backends.cudnn)
    for backend in backends:
        if hasattr(backend, "fp32_precision"):
            backend.fp32_precision = "tf32" if is_wanted else "ieee"
        else:  # before PyTorch 2.9
            backend.allow_tf32 = is_wanted


def gemm_for(choice: GemmChoice, device: torch.device) -> GemmBackend:
    """Returns the backend of float32 products that a choice means here; `choose_gemm` is "auto".

    Products on a GPU have no such choice: "default".
    """
    if device.type != "cpu":
        return "default"
    return choose_gemm() if choice == "auto" else choice
