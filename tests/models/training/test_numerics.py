"""The choice of who multiplies float32 matrices: by speed and error, and without a trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from treeviews.models.training import numerics
from treeviews.models.training.numerics import (
    available_backends,
    choose_gemm,
    preserve_gemm,
    use_gemm,
)

ACCURATE, ROUNDED = 3e-7, 2e-3

needs_a_choice = pytest.mark.skipif(
    len(available_backends()) < 2, reason="this PyTorch has one backend only"
)


@pytest.fixture(autouse=True)
def backend_as_before() -> Iterator[None]:
    with preserve_gemm():
        yield


@pytest.mark.parametrize(
    ("backends", "error", "mkl_fast", "chosen"),
    [
        (("default", "onednn"), ACCURATE, False, "onednn"),
        (("default", "onednn"), ROUNDED, False, "default"),
        (("default", "onednn"), ACCURATE, True, "default"),
        (("default",), ACCURATE, False, "default"),
    ],
)
def test_an_accurate_backend_is_chosen_where_mkl_is_slow(
    monkeypatch: pytest.MonkeyPatch, backends: Any, error: float, mkl_fast: bool, chosen: str
) -> None:
    monkeypatch.setattr(numerics, "available_backends", lambda: backends)
    monkeypatch.setattr(numerics, "product_errors", lambda _: {"default": 0.0, "onednn": error})
    monkeypatch.setattr(numerics, "mkl_is_fast", lambda: mkl_fast)
    assert choose_gemm(width=8) == chosen


@needs_a_choice
def test_the_default_multiplies_as_if_nothing_was_ever_chosen() -> None:
    left, right = torch.randn(50, 70), torch.randn(70, 30)
    expected = left @ right
    use_gemm("onednn")
    use_gemm("default")
    assert torch.equal(left @ right, expected)


def test_float64_products_are_the_same_with_every_backend() -> None:
    left, right = torch.randn(50, 70).double(), torch.randn(70, 30).double()
    products = []
    for backend in available_backends():
        use_gemm(backend)
        products.append(left @ right)
    assert all(torch.equal(product, products[0]) for product in products)


def test_a_backend_this_pytorch_cannot_choose_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numerics, "available_backends", lambda: ("default",))
    with pytest.raises(ValueError, match=r"cannot choose the gemm backend 'onednn'; set gemm to"):
        use_gemm("onednn")
