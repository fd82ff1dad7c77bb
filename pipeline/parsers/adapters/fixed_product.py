"""Products with a weight that never changes, in the library that is fastest on this machine.

Torch multiplies float32 by MKL, whose code for processors of other makers than its own reached
95 GFLOPS a core where oneDNN's reached 220 (AMD EPYC 9005). oneDNN, which bfloat16 uses
everywhere, compiles its code anew for every shape, at ten times the cost of a product; so it gets
rows by the block, always as many.

Legend: R rows, K their features, N features of the product.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from pipeline.base.processor import mkl_is_at_home

BLOCK_ROWS = 256
"""Enough rows at once for oneDNN's full speed, few enough to stay in a core's cache."""


class FixedProduct:
    """Multiplies rows with a weight ``[K, N]``, by turns of one library and one block size."""

    def __init__(
        self,
        weight_KN: Tensor,
        bias_N: Tensor | None = None,
        *,
        block_rows: int = BLOCK_ROWS,
    ) -> None:
        """Takes the values over as they are now, on whichever device they stand.

        Args:
            block_rows: how many oneDNN gets at once; fewer are multiplied as torch does it.
        """
        # Contiguous: MKL is up to a third faster than with a turned weight.
        self._weight = weight_KN.detach().clone(memory_format=torch.contiguous_format)
        self._bias = None if bias_N is None else bias_N.detach().clone()
        self._block_rows = block_rows
        self._packed = _packed(self._weight, block_rows)

    def __call__(self, rows_RK: Tensor, *, rectified: bool = False) -> Tensor:
        """Returns ``[R, N]``: rows times weight, plus bias; negatives are 0 if rectified."""
        if self._packed is None or len(rows_RK) < self._block_rows:
            products = self._by_torch(rows_RK)
        else:
            products = self._by_onednn(rows_RK)
        # Not within oneDNN's product, which makes 0 of what is no number.
        return products.relu_() if rectified else products

    def _by_torch(self, rows_RK: Tensor) -> Tensor:
        if self._bias is None:
            return rows_RK @ self._weight
        return torch.addmm(self._bias, rows_RK, self._weight)

    def _by_onednn(self, rows_RK: Tensor) -> Tensor:
        products = rows_RK.new_empty(len(rows_RK), self._weight.shape[1])
        parts = zip(rows_RK.split(self._block_rows), products.split(self._block_rows), strict=True)
        for rows, out in parts:
            missing = self._block_rows - len(rows)
            block = F.pad(rows, (0, 0, 0, missing)) if missing else rows
            out.copy_(
                torch.ops.mkldnn._linear_pointwise(block, self._packed, self._bias, "none", [], "")[
                    : len(rows)
                ]
            )
        return products


def _packed(weight_KN: Tensor, block_rows: int) -> Tensor | None:
    """Returns the weight laid out for oneDNN, or None where torch's own product is as fast."""
    if weight_KN.device.type != "cpu" or not _has_onednn():
        return None
    is_faster = {
        torch.bfloat16: torch.ops.mkldnn._is_mkldnn_bf16_supported(),
        torch.float32: not mkl_is_at_home(),
    }
    if not is_faster.get(weight_KN.dtype, False):
        return None
    packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight_KN.T.contiguous(), block_rows)
    return packed


def _has_onednn() -> bool:
    # An operator of torch's compiler; a torch without it multiplies by MKL.
    return torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
