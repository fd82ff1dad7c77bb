"""Adam by rows: what it shares with PyTorch's, and what it leaves alone."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from treeviews.models.training.learner import RowAdam

ROWS, SIZE, STEPS = 7, 3, 5


def table() -> nn.Parameter:
    return nn.Parameter(torch.randn(ROWS, SIZE, generator=torch.Generator().manual_seed(1)))


def gradients(used: list[list[int]]) -> list[Tensor]:
    random = torch.Generator().manual_seed(2)
    found = []
    for rows in used:
        gradient = torch.zeros(ROWS, SIZE)
        gradient[rows] = torch.randn(len(rows), SIZE, generator=random)
        found.append(gradient)
    return found


def moved(optimiser: torch.optim.Optimizer, weights: nn.Parameter, given: list[Tensor]) -> Tensor:
    for gradient in given:
        weights.grad = gradient
        optimiser.step()
    return weights.detach().clone()


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_a_table_that_is_used_as_a_whole_moves_as_under_adam(weight_decay: float) -> None:
    given = gradients([list(range(ROWS))] * STEPS)
    by_rows, whole = table(), table()
    found = moved(RowAdam([by_rows], lr=0.1, weight_decay=weight_decay), by_rows, given)
    adam = torch.optim.Adam([whole], lr=0.1, weight_decay=weight_decay)
    torch.testing.assert_close(found, moved(adam, whole, given))


def test_used_rows_move_as_under_sparse_adam_and_the_others_stay() -> None:
    given = gradients([[1, 4], [4], [2, 4], [1], [1, 2]])
    sparse = [gradient.to_sparse(1) for gradient in given]
    by_rows, reference = table(), table()
    found = moved(RowAdam([by_rows], lr=0.1), by_rows, sparse)
    torch.testing.assert_close(
        found, moved(torch.optim.SparseAdam([reference], lr=0.1), reference, sparse)
    )
    assert torch.equal(found[[0, 3, 5, 6]], table().detach()[[0, 3, 5, 6]])


def test_a_state_that_is_loaded_goes_on_alike() -> None:
    given = gradients([[1, 4], [4], [2, 4], [1], [1, 2]])
    through, first = table(), table()
    expected = moved(RowAdam([through], lr=0.1), through, given)
    before = RowAdam([first], lr=0.1)
    second = nn.Parameter(moved(before, first, given[:2]))
    after = RowAdam([second], lr=0.1)
    after.load_state_dict(before.state_dict())
    assert torch.equal(moved(after, second, given[2:]), expected)
