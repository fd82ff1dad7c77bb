"""Measuring who multiplies float32 matrices: speed, error, and no trace left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
import torch
from torch import Tensor

from benchmarks import gemm_speed
from benchmarks.gemm_speed import (
    SLOW_SECONDS,
    GemmMeasurement,
    fastest_gemm,
    measure_gemm,
    measure_training_products,
)
from models.encoders.kernels.gemm import GemmBackend, available_backends, gemm_kept, use_gemm

ACCURATE, ROUNDED = 3e-7, 2e-3

needs_a_choice = pytest.mark.skipif(
    len(available_backends()) < 2, reason="this PyTorch has one backend only"
)


@pytest.fixture(autouse=True)
def backend_as_before() -> Iterator[None]:
    with gemm_kept():
        yield


def test_the_fastest_of_the_accurate_backends_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def fastest(onednn: GemmMeasurement) -> GemmBackend:
        measured = {"default": GemmMeasurement(gflops=100.0, error=ACCURATE), "onednn": onednn}
        monkeypatch.setattr(gemm_speed, "measure_training_products", lambda *, width: measured)
        return fastest_gemm()

    assert fastest(GemmMeasurement(110.0, ACCURATE)) == "onednn"
    assert fastest(GemmMeasurement(200.0, ROUNDED)) == "default"
    assert fastest(GemmMeasurement(90.0, ACCURATE)) == "default"


@needs_a_choice
def test_the_total_time_of_all_kinds_of_products_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    # The other backend is twice as fast up and down, and far slower on the weights' gradient.
    def seconds(products: Sequence[tuple[Tensor, Tensor]]) -> float:
        is_default = torch.backends.mkldnn.matmul.fp32_precision == "ieee"
        of_the_gradient = sum(not left.is_contiguous() for left, _ in products)
        others = len(products) - of_the_gradient
        return others + of_the_gradient if is_default else others / 2 + 9 * of_the_gradient

    monkeypatch.setattr(gemm_speed, "_seconds", seconds)
    assert fastest_gemm(width=8) == "default"


def test_a_step_s_products_are_multiplied_in_all_three_orders(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken: list[tuple[bool, bool]] = []

    def note(products: Sequence[tuple[Tensor, Tensor]]) -> float:
        taken.extend((left.is_contiguous(), right.is_contiguous()) for left, right in products)
        return 1.0

    monkeypatch.setattr(gemm_speed, "_seconds", note)
    monkeypatch.setattr(gemm_speed, "available_backends", lambda: ("default",))
    measure_training_products(width=8, repeats=1)
    up, down, weights_gradient = (True, False), (True, True), (False, True)
    assert taken == [*[up] * 3, *[down] * 3, weights_gradient]


def test_the_rate_counts_the_operations_of_all_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gemm_speed, "_seconds", lambda products: 1.0)
    found = measure_training_products(width=10, repeats=1)["default"]
    assert found.gflops == pytest.approx(3 * 2 * (8 + 64 + 512) * 10 * 10 / 1e9)
    assert found.error < 1e-6


@pytest.mark.parametrize(("took", "turns"), [(SLOW_SECONDS, 2), (SLOW_SECONDS / 2, 4)])
def test_a_slow_product_is_made_twice_alone(
    took: float, turns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[float] = []

    def seconds(products: Sequence[tuple[Tensor, Tensor]]) -> float:
        made.append(took)
        return took

    monkeypatch.setattr(gemm_speed, "_seconds", seconds)
    monkeypatch.setattr(gemm_speed, "available_backends", lambda: ("default",))
    measure_gemm(size=8, repeats=4)
    assert len(made) == turns


def test_the_default_is_accurate_to_float32() -> None:
    measured = measure_gemm(size=64, repeats=1)["default"]
    assert measured.error < 1e-6
    assert measured.gflops > 0


def test_products_in_bfloat16_show_their_rounding() -> None:
    measured = measure_gemm(size=64, repeats=1, dtype=torch.bfloat16)
    assert all(1e-4 < found.error < 1e-2 for found in measured.values())


@needs_a_choice
def test_measuring_leaves_the_backend_in_use_and_the_random_state_alone() -> None:
    use_gemm("onednn")
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    assert set(measure_gemm(size=16, repeats=1)) == {"default", "onednn"}
    assert torch.rand(1) == expected
    assert torch.backends.mkldnn.matmul.fp32_precision == "bf16"


def test_measuring_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="size and repeats must be at least 1, not 0 and 1"):
        measure_gemm(size=0, repeats=1)
    with pytest.raises(ValueError, match="width and repeats must be at least 1, not 8 and 0"):
        measure_training_products(width=8, repeats=0)
