"""Features in coordinates of their own: no more of them than there are sentences.

Legend: N sentences, D features.
"""

from __future__ import annotations

import torch
from torch import Tensor


def in_row_space(features_nd: Tensor) -> tuple[Tensor, Tensor | None]:
    """Returns features [N, min(N, D)] and the basis [D, N] they are coordinates in, if another.

    The minimum of an objective whose penalty is the norm of the weights lies in the space that
    the sentences span, so nothing is lost: features = coordinates · basisᵀ, basis orthonormal.
    """
    num_sentences, width = features_nd.shape
    if width <= num_sentences:
        return features_nd, None
    basis, triangle = torch.linalg.qr(features_nd.T)
    return triangle.T.contiguous(), basis
