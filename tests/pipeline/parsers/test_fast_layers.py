"""Products are the same whichever library multiplies."""

from __future__ import annotations

import pytest
import torch

from treeviews.pipeline.parsers import fast_layers
from treeviews.pipeline.parsers.fast_layers import BLOCK_ROWS, FixedProduct

WEIGHT = torch.randn(48, 40, generator=torch.Generator().manual_seed(1))


BIAS = torch.linspace(-1, 1, 40)


SIZES = (0, 1, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 1, 3 * BLOCK_ROWS + 17)


def rows_of(count: int) -> torch.Tensor:
    return torch.randn(count, 48, generator=torch.Generator().manual_seed(count))


@pytest.fixture(params=[True, False], ids=["mkl", "onednn"])
def mkl_fast(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Says whether MKL is taken to be as fast as oneDNN."""
    monkeypatch.setattr(fast_layers, "mkl_is_fast", lambda: request.param)
    return bool(request.param)


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("bias", [BIAS, None], ids=["bias", "no bias"])
def test_products_are_those_of_the_formula(
    mkl_fast: bool, count: int, bias: torch.Tensor | None
) -> None:
    rows = rows_of(count)
    expected = rows.double() @ WEIGHT.double() + (0 if bias is None else bias.double())

    product = FixedProduct(WEIGHT, bias)

    torch.testing.assert_close(product(rows).double(), expected, atol=1e-5, rtol=1e-5)
    rectified = product(rows, rectified=True).double()
    torch.testing.assert_close(rectified, expected.clamp_min(0), atol=1e-5, rtol=1e-5)
