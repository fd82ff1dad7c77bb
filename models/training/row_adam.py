"""Adam that moves the rows of a table which a batch has used, and leaves the others alone.

A batch has a few thousand words of a vocabulary of tens of thousands, so that most of a dense step
over the table is spent on rows without a gradient.

Differs from Adam (Kingma & Ba 2015) in that the moments of a row do not fade, and the row does not
move, in steps that do not use it; PyTorch's ``SparseAdam`` is alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor


class RowAdam(torch.optim.Optimizer):
    """Adam over the rows that have a gradient; a row of zeros is one that has none.

    So it makes no difference whether a gradient is sparse or dense, nor how many processes it is
    the sum of.
    """

    def __init__(
        self,
        tables: Iterable[Tensor],
        lr: float,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        """Takes the tables.

        Args:
            tables: [V, E] each.
            lr: the learning rate.
            betas: of the moments.
            eps: added to the root of the second moment.
            weight_decay: L2 penalty of the rows that move.
        """
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(tables, defaults)

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Moves the rows; closures are not known."""
        assert closure is None
        for group in self.param_groups:
            first, second = group["betas"]
            for table in group["params"]:
                if table.grad is None:
                    continue
                state = self.state[table]
                if not state:
                    state["step"] = torch.zeros((), dtype=torch.int64)
                    state["exp_avg"] = torch.zeros_like(table)
                    state["exp_avg_sq"] = torch.zeros_like(table)
                state["step"] += 1
                step = int(state["step"])
                rows, gradient = _used_rows(table.grad)
                if group["weight_decay"]:
                    gradient = gradient.add(table[rows], alpha=group["weight_decay"])
                mean = state["exp_avg"][rows].lerp_(gradient, 1 - first)
                square = state["exp_avg_sq"][rows].mul_(second)
                square.addcmul_(gradient, gradient, value=1 - second)
                state["exp_avg"][rows] = mean
                state["exp_avg_sq"][rows] = square
                root = square.sqrt_().div_(math.sqrt(1 - second**step)).add_(group["eps"])
                table[rows] -= mean.div_(root).mul_(group["lr"] / (1 - first**step))


def _used_rows(gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Returns which rows have a gradient, [R] ascending, and their gradients, [R, E]."""
    if gradient.is_sparse:
        gradient = gradient.coalesce()
        rows, values = gradient.indices()[0], gradient.values()
    else:
        rows, values = torch.arange(len(gradient), device=gradient.device), gradient
    is_used = values.ne(0).any(1)
    return rows[is_used], values[is_used]
