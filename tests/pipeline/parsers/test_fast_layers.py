"""Products are the same whichever library multiplies; words are read once."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from treeviews.pipeline.parsers import fast_layers
from treeviews.pipeline.parsers.fast_layers import (
    BLOCK_ROWS,
    FixedProduct,
    WordCache,
    words_at_once,
)

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


class _Reader:
    """Gives a word's length and its array's width, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[set[str], int]] = []

    def __call__(self, words: list[str], width: int) -> Tensor:
        assert len(words) == words_at_once(width)
        self.asked.append((set(words), width))
        return torch.tensor([[float(len(word)), float(width)] for word in words])


def _cache(reader: _Reader, capacity: int = 10) -> WordCache:
    return WordCache(reader, table=torch.empty(capacity, 2), widths=(2, 4))


def test_a_word_is_read_once() -> None:
    reader = _Reader()
    cache = _cache(reader)
    cache.remember(["a", "abc"])
    cache.vectors(["abc", "a", "b"])
    assert reader.asked == [({"a"}, 2), ({"abc"}, 4), ({"b"}, 2)]


def test_a_long_word_is_read_by_its_first_characters_and_kept_apart() -> None:
    cache = _cache(_Reader())
    assert cache.vectors(["abcdefgh", "abcdxxxx"]).tolist() == [[4, 4], [4, 4]]
    assert len(cache) == 2


def test_a_full_cache_is_emptied_and_keeps_to_its_capacity() -> None:
    cache = _cache(_Reader(), capacity=3)
    cache.vectors(["a", "b"])
    assert cache.vectors(["c", "a", "dddd"]).tolist() == [[1, 2], [1, 2], [4, 4]]
    assert len(cache) == 3
