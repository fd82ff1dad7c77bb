"""A matrix kept close to orthonormal rows, or columns, without ever inverting one.

    U <- (1 + β) U - β (U Uᵀ) U        Tang & de Sa 2018, eq. 2, after Cissé et al. 2017

The update leaves U's singular vectors as they are and takes each singular value σ to
(1 + β) σ - β σ³. That converges to ±1 from any 0 < σ < √(1 + 2/β) and diverges from above; near
the end every update removes a share 2 β of the distance, and at β = 1/2 all but its square. As
(U Uᵀ) U = U (Uᵀ U), the form for rows and that for columns are one update; they differ in which
Gram matrix is the smaller.

Legend: E rows, D columns.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


@torch.no_grad()
def update_towards_orthonormal(matrix: Tensor, rate: float) -> None:
    """Applies the update once, in place.

    Args:
        matrix: U [E, D].
        rate: β, above 0 and at most 0.5.
    """
    gram = _smaller_gram(matrix)
    factors = (gram, matrix) if _is_wide(matrix) else (matrix, gram)
    matrix.copy_(torch.addmm(matrix, *factors, beta=1 + rate, alpha=-rate))


def largest_rate(matrix: Tensor) -> float:
    """Returns the β from which on the update of U [E, D] diverges; infinite if none does.

    Of a matrix without values (device meta) nothing is known: infinite.
    """
    if matrix.is_meta:
        return math.inf
    largest = float(torch.linalg.matrix_norm(matrix.detach(), 2))
    return 2 / (largest**2 - 1) if largest > 1 else math.inf


@torch.no_grad()
def orthonormality_defect(matrix: Tensor) -> Tensor:
    """Returns ‖U Uᵀ - I‖_F, or ‖Uᵀ U - I‖_F if U [E, D] has more rows than columns.

    Tang & de Sa 2018, section 2.2 and its footnote. Scalar, detached; it bounds the distance of
    every singular value from 1.
    """
    gram = _smaller_gram(matrix)
    gram.diagonal().sub_(1)
    return gram.square().sum().sqrt()


def _is_wide(matrix: Tensor) -> bool:
    return matrix.shape[0] <= matrix.shape[1]


def _smaller_gram(matrix: Tensor) -> Tensor:
    return matrix @ matrix.T if _is_wide(matrix) else matrix.T @ matrix
