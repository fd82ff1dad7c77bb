"""The principal plane, against eigenvectors of the covariance."""

from __future__ import annotations

import numpy as np
import pytest

from models.report.sentences.plane import in_unit_square, principal_plane

RNG = np.random.default_rng(0)


def test_the_plane_holds_the_largest_variances() -> None:
    rows = RNG.normal(size=(60, 5)) * [5, 3, 1, 0.5, 0.1]

    found = principal_plane(rows)

    sizes = np.linalg.eigvalsh(np.cov(rows.T))[::-1]
    assert found.points.var(axis=0, ddof=1) == pytest.approx(sizes[:2])
    assert found.shares == pytest.approx(tuple(sizes[:2] / sizes.sum()))


def test_signs_are_settled() -> None:
    rows = RNG.normal(size=(20, 3))
    assert principal_plane(rows).points == pytest.approx(principal_plane(rows[::-1]).points[::-1])


def test_vectors_of_one_number_lie_on_a_line() -> None:
    found = principal_plane(np.array([[1.0], [3.0]]))
    assert found.points[:, 1].tolist() == [0, 0]
    assert found.shares == (1.0, 0.0)


def test_equal_vectors_lie_in_the_middle() -> None:
    found = principal_plane(np.ones((3, 4)))
    assert found.shares == (0.0, 0.0)
    assert in_unit_square(found.points).tolist() == [[0.5, 0.5]] * 3


def test_points_fill_the_square() -> None:
    points = in_unit_square(np.array([[0.0, -2.0], [4.0, 2.0], [1.0, 0.0]]))
    assert points.tolist() == [[0, 0], [1, 1], [0.25, 0.5]]


@pytest.mark.parametrize("rows", [np.zeros((1, 3)), np.array([[1.0, np.nan], [0.0, 1.0]])])
def test_what_has_no_plane_is_refused(rows: np.ndarray) -> None:
    with pytest.raises(ValueError, match="plane"):
        principal_plane(rows)
