"""Features in coordinates of their own, as many as there are sentences.

Legend: N sentences, D features.
"""

from __future__ import annotations

import torch
from torch import Tensor


def in_row_space(features_nd: Tensor) -> tuple[Tensor, Tensor]:
    """Returns coordinates [N, N] of more features than sentences, and their basis [D, N].

    The minimum of an objective whose penalty is the norm of the weights lies in the space that
    the sentences span, so nothing is lost: features = coordinates · basisᵀ, basis orthonormal.
    """
    basis, triangle = torch.linalg.qr(features_nd.T)
    return triangle.T.contiguous(), basis
