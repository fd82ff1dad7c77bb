"""The component that power iterations find, against a full decomposition."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from treeviews.models.objectives.discriminative import top_component, without_top_component


def vectors_of(num_vectors: int, width: int, seed: int = 0) -> Tensor:
    """Vectors with a mean of their own, as sentence encoders give them."""
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(num_vectors, width, dtype=torch.float64, generator=generator)
    return noise + torch.randn(width, dtype=torch.float64, generator=generator)


def first_right_singular_vector(vectors: Tensor) -> Tensor:
    return torch.linalg.svd(vectors).Vh[0]


@pytest.mark.parametrize(("num_vectors", "width"), [(6, 40), (40, 6), (12, 12), (1, 5), (5, 1)])
def test_many_iterations_give_the_first_singular_vector(num_vectors: int, width: int) -> None:
    vectors = vectors_of(num_vectors, width)

    component = top_component(vectors, iterations=300)

    expected = first_right_singular_vector(vectors)
    assert component.shape == (width,)
    assert abs(float(component @ expected)) == pytest.approx(1.0, abs=1e-12)
    assert float(component.norm()) == pytest.approx(1.0, abs=1e-12)


def test_five_iterations_suffice_where_the_mean_is_strong() -> None:
    vectors = vectors_of(200, 64) + 2.0

    component = top_component(vectors, iterations=5)

    eigenvectors = torch.linalg.eigh(vectors.T @ vectors).eigenvectors
    assert abs(float(component @ eigenvectors[:, -1])) > 1 - 1e-9


@pytest.mark.parametrize(("num_vectors", "width"), [(7, 30), (30, 7)])
def test_an_iteration_is_one_on_either_gram_matrix(num_vectors: int, width: int) -> None:
    vectors = vectors_of(num_vectors, width)
    weights = 1 + 0.5 * torch.arange(num_vectors).double().cos()
    wide, narrow = vectors.T @ weights, weights
    for _ in range(3):
        wide = vectors.T @ vectors @ wide
        narrow = vectors @ vectors.T @ narrow

    component = top_component(vectors, iterations=3)

    torch.testing.assert_close(component, wide / wide.norm(), rtol=0, atol=1e-12)
    from_narrow = vectors.T @ narrow
    torch.testing.assert_close(component, from_narrow / from_narrow.norm(), rtol=0, atol=1e-12)


def test_vectors_that_sum_to_zero_have_a_component() -> None:
    vector = torch.tensor([3.0, 0.0, 4.0])

    component = top_component(torch.stack([vector, -vector]), iterations=5)

    assert abs(float(component @ vector)) == pytest.approx(5.0, abs=1e-5)


@pytest.mark.parametrize("num_vectors", [0, 1, 4])
def test_zeros_have_none_and_stay_zeros(num_vectors: int) -> None:
    zeros = torch.zeros(num_vectors, 3)

    assert torch.equal(top_component(zeros, iterations=5), torch.zeros(3))
    assert torch.equal(without_top_component(zeros, iterations=5), zeros)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_vectors_of_any_scale_have_the_same_component(scale: float) -> None:
    vectors = vectors_of(9, 5).float()

    component = top_component(scale * vectors, iterations=5)

    torch.testing.assert_close(component, top_component(vectors, iterations=5))


def test_what_is_left_is_orthogonal_to_the_component() -> None:
    vectors = vectors_of(20, 8)
    component = top_component(vectors, iterations=5)

    rest = without_top_component(vectors, iterations=5)

    assert (rest @ component).abs().max() < 1e-12
    assert (rest + torch.outer(vectors @ component, component) - vectors).abs().max() < 1e-12


def test_gradients_lose_the_component_too_and_do_not_pass_through_it() -> None:
    vectors = vectors_of(6, 4).requires_grad_()
    weights = torch.randn(6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))

    (without_top_component(vectors, iterations=5) * weights).sum().backward()

    component = top_component(vectors, iterations=5)
    expected = weights - torch.outer(weights @ component, component)
    assert not component.requires_grad
    torch.testing.assert_close(vectors.grad, expected, rtol=0, atol=1e-12)
