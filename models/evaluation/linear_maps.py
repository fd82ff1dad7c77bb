"""Linear maps of sentence vectors: the removal of shared directions, and a random projection.

The directions that a set of vectors shares are removed as in Arora et al. 2017, algorithm 1. As
there and in Tang & de Sa 2018, the vectors are not centred: the first direction is mostly their
mean. A random projection gives the bag of words another encoder's width.

Legend: n sentences, d width, k components.
"""

from __future__ import annotations

import functools
from typing import Literal

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float32]
Matrix = npt.NDArray[np.float64]
Method = Literal["exact", "power_iteration"]
"""How components are found: by an eigendecomposition, or as Tang & de Sa 2018 estimate them."""

POWER_ITERATIONS = 5
"""T of Tang & de Sa 2018, appendix, algorithm 1."""
ROUNDING = 1e-6
"""Of a vector's length; what is shorter after a removal is an error of components in float32."""
SMALLEST_SHARE = 1e-12
"""Of the largest eigenvalue; a smaller one is rounding, and its direction no component."""


def principal_components(
    vectors: FloatArray, count: int, *, method: Method = "exact"
) -> FloatArray:
    """Returns the first components of vectors [n, d] as orthonormal rows, [k, d].

    k is ``count``, or less where the vectors span fewer dimensions.

    Differs from Arora et al.'s code, which finds the same directions by a randomised SVD. Without
    a method of its own, ``exact`` is used, so that the result has no seed.

    Raises:
        ValueError: more components than dimensions, or vectors that are not finite.
    """
    if count > vectors.shape[1]:
        raise ValueError(
            f"{count} components cannot be removed from vectors {vectors.shape[1]} wide"
        )
    if not np.isfinite(vectors).all():
        raise ValueError("vectors that are not finite have no principal components")
    # The smaller of the two products has the same eigenvalues (Tang & de Sa 2018, appendix, 2).
    z = vectors.astype(np.float64)
    is_wide = len(z) < z.shape[1]
    gram = z @ z.T if is_wide else z.T @ z
    directions = _by_power(gram, count) if method == "power_iteration" else _exact(gram, count)
    if is_wide:
        directions = directions @ z
    # Estimated directions are not quite orthogonal by themselves.
    components: FloatArray = np.linalg.qr(directions.T)[0].T.astype(np.float32)
    return components


def remove_components(vectors: FloatArray, components: FloatArray) -> FloatArray:
    """Returns vectors [n, d] without their part along the components [k, d].

    A single vector that is its own set has nothing left. What rounding leaves of it is set to zero,
    or a normalisation would make a direction of it.
    """
    z, u = vectors.astype(np.float64), components.astype(np.float64)
    rest = z - (z @ u.T) @ u
    is_gone = np.linalg.norm(rest, axis=1) <= ROUNDING * np.linalg.norm(z, axis=1)
    rest[is_gone] = 0.0
    left: FloatArray = rest.astype(np.float32)
    return left


def _exact(gram: Matrix, count: int) -> Matrix:
    """Returns the eigenvectors of the largest eigenvalues as rows, those of zero left out."""
    values, columns = np.linalg.eigh(gram)
    smallest = SMALLEST_SHARE * max(values.max(initial=0.0), 0.0)
    kept = [i for i in range(len(values))[::-1][:count] if values[i] > smallest]
    rows: Matrix = columns[:, kept].T
    return rows


def _by_power(gram: Matrix, count: int) -> Matrix:
    """Returns estimates of the same, each in what the ones before it leave."""
    rest = gram
    directions: list[Matrix] = []
    smallest = SMALLEST_SHARE * float(np.trace(gram))
    for _ in range(min(count, len(gram))):
        if np.trace(rest) <= smallest:
            break
        # The paper starts from any unit vector; a column of the product is never lost on it.
        u = _unit(rest[:, np.argmax(np.diag(rest))])
        for _ in range(POWER_ITERATIONS):
            u = _unit(rest @ u)
        projection = np.eye(len(u)) - np.outer(u, u)
        rest = projection @ rest @ projection
        directions.append(u)
    return np.array(directions).reshape(len(directions), len(gram))


def _unit(vector: Matrix) -> Matrix:
    scaled: Matrix = vector / np.linalg.norm(vector)
    return scaled


def random_projection(embeddings: FloatArray, width: int, *, seed: int) -> FloatArray:
    """Returns embeddings [n, width] of embeddings [n, d] through a random linear map.

    The map's entries are Glorot-uniform, in ±sqrt(6 / (d + width)), as Simoulin & Crabbé 2021
    widen an embedding to tell the effect of its size (their study of the embedding size, after
    Wieting & Kiela 2019); it adds width and no information, and below d it loses some. Over seeds
    the mean of an inner product is 2 · width / (d + width) times the vectors' own; how far one seed
    is from it falls with width.
    """
    matrix = _matrix(embeddings.shape[1], width, seed)
    projected: FloatArray = (embeddings @ matrix).astype(np.float32)
    return projected


def projected_in_place(embeddings: FloatArray, width: int, *, seed: int) -> FloatArray:
    """Returns embeddings [n, d] whose inner products are those of `random_projection`.

    A projection to a larger width fills d of its dimensions. What is learnt from inner products
    alone, as a linear model with a penalty on its length, is the same from these, at the cost of d.
    Args:
        width: larger than d.
    """
    placed: FloatArray = (embeddings @ _root(embeddings.shape[1], width, seed)).astype(np.float32)
    return placed


@functools.lru_cache(maxsize=1)
def _root(size: int, width: int, seed: int) -> Matrix:
    """Returns L [d, d], where L Lᵀ is the product of the map with itself, [d, d]."""
    matrix = _matrix(size, width, seed)
    return np.linalg.cholesky(matrix @ matrix.T).astype(np.float64)


@functools.lru_cache(maxsize=1)  # a task's batches are all projected by the same one
def _matrix(size: int, width: int, seed: int) -> Matrix:
    bound = (6.0 / (size + width)) ** 0.5
    return np.random.default_rng(seed).uniform(-bound, bound, size=(size, width))
