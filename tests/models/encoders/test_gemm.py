"""The choice of who multiplies float32 matrices: by speed and error, and without a trace."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from models.training import numerics as gemm
from models.training.numerics import (
    GemmBackend,
    available_backends,
    choose_gemm,
    gemm_kept,
    use_gemm,
)

ACCURATE, ROUNDED = 3e-7, 2e-3

needs_a_choice = pytest.mark.skipif(
    len(available_backends()) < 2, reason="this PyTorch has one backend only"
)


@pytest.fixture(autouse=True)
def backend_as_before() -> Iterator[None]:
    with gemm_kept():
        yield


def choice_among(monkeypatch: pytest.MonkeyPatch, *, error: float, mkl_fast: bool) -> GemmBackend:
    monkeypatch.setattr(gemm, "available_backends", lambda: ("default", "onednn"))
    monkeypatch.setattr(gemm, "product_errors", lambda _: {"default": ACCURATE, "onednn": error})
    monkeypatch.setattr(gemm, "mkl_is_fast", lambda: mkl_fast)
    return choose_gemm(width=8)


def test_an_accurate_backend_is_chosen_where_mkl_is_slow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert choice_among(monkeypatch, error=ACCURATE, mkl_fast=False) == "onednn"


def test_a_backend_that_rounds_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choice_among(monkeypatch, error=ROUNDED, mkl_fast=False) == "default"


def test_mkl_is_kept_where_it_is_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choice_among(monkeypatch, error=ACCURATE, mkl_fast=True) == "default"


def test_the_default_is_chosen_where_there_is_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gemm, "available_backends", lambda: ("default",))
    monkeypatch.setattr(gemm, "mkl_is_fast", lambda: False)
    assert choose_gemm(width=8) == "default"


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
    monkeypatch.setattr(gemm, "available_backends", lambda: ("default",))
    with pytest.raises(ValueError, match=r"cannot choose the gemm backend 'onednn'; set gemm to"):
        use_gemm("onednn")
