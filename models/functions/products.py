"""Matrix products into sums that may be held in a wider type than the factors."""

from __future__ import annotations

import torch
from torch import Tensor


def add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    """Adds ``left @ right`` to ``total``; multiplies in the type of ``right``.

    Args:
        total: [n, m].
        left: [n, k].
        right: [k, m].
    """
    left = left.to(right.dtype)
    if total.dtype == right.dtype:
        total.addmm_(left, right)
    else:
        total.add_(torch.mm(left, right))


def write_product(out: Tensor, left: Tensor, right: Tensor) -> None:
    """Writes ``left @ right`` to ``out``; arguments as in `add_product`."""
    left = left.to(right.dtype)
    if out.dtype == right.dtype:
        torch.mm(left, right, out=out)
    else:
        out.copy_(torch.mm(left, right))
