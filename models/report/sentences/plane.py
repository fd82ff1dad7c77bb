"""The plane in which vectors differ most: principal components by a singular value decomposition.

Legend: n vectors, d their width.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Plane:
    """Vectors in the plane of their first two principal components."""

    points: FloatArray
    """[n, 2]; centred, in the vectors' own unit."""
    shares: tuple[float, float]
    """Of the vectors' variance, along both axes."""


def principal_plane(vectors: npt.NDArray[np.floating]) -> Plane:
    """Returns vectors [n, d] in the plane of the two directions of largest variance.

    Jolliffe (2002), section 3.5: with the rows centred and X = U S Vᵀ, the coordinates are the
    first columns of U S, their variances S² / (n − 1). The sign of a direction, which the
    decomposition leaves open, is that in which the largest of its entries is positive.

    Raises:
        ValueError: fewer than two vectors, or numbers that are not finite.
    """
    if vectors.ndim != 2 or len(vectors) < 2:
        raise ValueError(f"a plane needs two vectors or more, got shape {list(vectors.shape)}")
    if not np.isfinite(vectors).all():
        raise ValueError("vectors with numbers that are not finite have no plane")
    rows = vectors.astype(np.float64)
    rows -= rows.mean(axis=0)
    _, sizes, directions = np.linalg.svd(rows, full_matrices=False)
    if len(sizes) < 2:  # one number a vector
        directions = np.concatenate([directions, np.zeros_like(directions)])
        sizes = np.append(sizes, 0.0)
    largest = np.abs(directions[:2]).argmax(axis=1)
    signs = np.where(directions[[0, 1], largest] < 0, -1.0, 1.0)
    points = rows @ (directions[:2] * signs[:, None]).T
    total = float((sizes**2).sum())
    first, second = ((float(size**2) / total if total > 0 else 0.0) for size in sizes[:2])
    return Plane(points, (first, second))


def in_unit_square(points: FloatArray) -> FloatArray:
    """Returns points [n, 2] moved and stretched, each axis by itself, to lie between 0 and 1."""
    low, high = points.min(axis=0), points.max(axis=0)
    size = np.where(high > low, high - low, 1.0)
    return np.where(high > low, (points - low) / size, 0.5)
