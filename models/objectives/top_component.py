"""The direction that a batch's vectors share most, and its removal during learning.

Tang & de Sa 2018, section 2.4 and appendix 2, algorithm 1: T power iterations estimate the first
eigenvector of the uncentred covariance C = Σ_n z_n z_nᵀ, which is mostly the vectors' mean.

Legend: N vectors, H width.
"""

from __future__ import annotations

import torch
from torch import Tensor


@torch.no_grad()
def top_component(vectors: Tensor, iterations: int) -> Tensor:
    """Returns the estimated first principal component, [H], of length 1; zero if all vectors are.

    The paper iterates w ← Z Zᵀ w on the smaller of the two products, Z Zᵀ [N, N] where N <= H, and
    Zᵀw is then the component. Products with Z and Zᵀ in turn are the same iteration on either of
    them. None is formed: ten products with vectors cost less than a single one of matrices.

    Args:
        vectors: [N, H], one a row; they are not centred.
        iterations: T.
    """
    component = _unit(vectors.T @ _start(vectors))
    for _ in range(iterations):
        component = _unit(vectors.T @ _unit(vectors @ component))
    return component


def without_top_component(vectors: Tensor, iterations: int) -> Tensor:
    """Returns vectors [N, H] without their part along the batch's `top_component`.

    The paper leaves open whether gradients pass through the component. Here they do not: it is a
    constant of the batch, as it is at test time.
    """
    component = top_component(vectors.detach(), iterations)
    return torch.addr(vectors, vectors @ component, component, alpha=-1)


def _start(vectors: Tensor) -> Tensor:
    """Returns the weights [N] that the iteration starts with the vectors' sum by.

    Unit weights give their mean, which lies near the component. They are made uneven, lest vectors
    that sum to zero have none.
    """
    place = torch.arange(len(vectors), dtype=vectors.dtype, device=vectors.device)
    return 1 + 0.5 * place.cos()


def _unit(vector: Tensor) -> Tensor:
    """Returns the vector with length 1, zero if it is zero."""
    unit: Tensor = vector / vector.norm().clamp(min=torch.finfo(vector.dtype).tiny)
    return unit
