"""The choice of who multiplies float32 matrices: by speed and error, and without a trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from treeviews.models.training import numerics
from treeviews.models.training.numerics import (
    choose_gemm,
    preserve_gemm,
    use_gemm,
)

ACCURATE, ROUNDED = 3e-7, 2e-3


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
    assert choose_gemm() == chosen


def test_a_backend_this_pytorch_cannot_choose_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numerics, "available_backends", lambda: ("default",))
    with pytest.raises(ValueError, match=r"cannot choose the gemm backend 'onednn'; set gemm to"):
        use_gemm("onednn")
