"""The metric of the steps: for each penalty the inverse of one matrix that stands for the Hessian.

That matrix is c · XᵀX + penalty, where c bounds the loss's curvature, so it bounds the Hessian of
every problem with the penalty (Böhning 1992). It holds no label, and only decides how fast the
answer is reached.

Legend: D features, F = D + 1 with the constant column, which stands last and is not penalised.
"""

from __future__ import annotations

import torch
from torch import Tensor

MOMENT_BLOCKS = 8
ROWS_AT_ONCE = 16_384
JITTER = 1e-6
"""First addition to the diagonal, as a share of its mean, where rounding makes a matrix
indefinite; each further one is ten times as large."""


class Metric:
    """Inverse matrices, one a penalty, applied to gradients."""

    def __init__(
        self, features_nf: Tensor, penalties: Tensor, curvature: float, used: Tensor | None
    ) -> None:
        """Factorises one matrix a distinct penalty.

        Args:
            features_nf: [N, F], the last column constant.
            penalties: [G], each once.
            curvature: c.
            used: [N], bool; sentences that some problem trains on; None for all.
        """
        moment = _second_moment(features_nf, used).mul_(curvature)
        self._factors = [_factor(moment, penalty) for penalty in penalties]

    def __call__(self, gradients_pvf: Tensor, groups: Tensor) -> Tensor:
        """Returns gradients [P, V, F] times the inverse matrix of their penalty.

        Args:
            groups: [P], int64, ascending; which penalty each problem has.
        """
        result = torch.empty_like(gradients_pvf)
        counts = torch.bincount(groups, minlength=len(self._factors)).tolist()
        first = 0
        for factor, count in zip(self._factors, counts, strict=True):
            if count:
                part = gradients_pvf[first : first + count]
                flat = part.reshape(-1, part.shape[2])
                solved = torch.cholesky_solve(flat.T, factor).T
                result[first : first + count] = solved.reshape(part.shape)
            first += count
        return result


def _second_moment(features_nf: Tensor, used: Tensor | None) -> Tensor:
    """Returns XᵀX [F, F] of the sentences used.

    Sentences are taken a block at a time, so that none but a block is copied; only the part below
    the diagonal is multiplied, as it is symmetric.
    """
    width = features_nf.shape[1]
    moment = features_nf.new_zeros((width, width))
    step = -(-width // MOMENT_BLOCKS)
    for first in range(0, len(features_nf), ROWS_AT_ONCE):
        block = features_nf[first : first + ROWS_AT_ONCE]
        if used is not None:
            block = block[used[first : first + ROWS_AT_ONCE]]
        for start in range(0, width, step):
            rows = slice(start, start + step)
            moment[rows, : start + step].addmm_(block[:, rows].T, block[:, : start + step])
    for start in range(0, width, step):
        rows = slice(start, start + step)
        moment[:start, rows] = moment[rows, :start].T
    return moment


def _factor(moment_ff: Tensor, penalty: Tensor) -> Tensor:
    """Returns the Cholesky factor [F, F] of the moment with the penalty on its diagonal."""
    matrix = moment_ff.clone()
    diagonal = matrix.diagonal()
    diagonal[:-1] += penalty
    jitter = JITTER * float(diagonal.mean())
    factor: Tensor
    factor, failed = torch.linalg.cholesky_ex(matrix)
    while int(failed):
        if not jitter < float(diagonal.max()):
            raise ValueError("features cannot be told from noise in their precision: rescale them")
        diagonal += jitter
        jitter *= 10.0
        factor, failed = torch.linalg.cholesky_ex(matrix)
    return factor
