"""A seeded random projection: the bag of words at another encoder's width."""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt


def random_projection(
    embeddings: npt.NDArray[np.float32], width: int, *, seed: int
) -> npt.NDArray[np.float32]:
    """Returns embeddings [n, width] of embeddings [n, d] through a random linear map.

    The map's entries are Glorot-uniform, in ±sqrt(6 / (d + width)), as Simoulin & Crabbé 2021
    widen an embedding to tell the effect of its size (their study of the embedding size, after
    Wieting & Kiela 2019); it adds width and no information.

    Raises:
        ValueError: width below 1.
    """
    if width < 1:
        raise ValueError(f"the width of a projection must be at least 1, got {width}")
    matrix = _matrix(embeddings.shape[1], width, seed)
    projected: npt.NDArray[np.float32] = (embeddings @ matrix).astype(np.float32)
    return projected


@functools.lru_cache(maxsize=1)  # a task's batches are all projected by the same one
def _matrix(size: int, width: int, seed: int) -> npt.NDArray[np.float64]:
    bound = (6.0 / (size + width)) ** 0.5
    return np.random.default_rng(seed).uniform(-bound, bound, size=(size, width))
