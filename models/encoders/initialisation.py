"""How an encoder's weights start."""

from __future__ import annotations

from typing import get_args

import torch
from torch import Tensor, nn

from models.variants import Init

UNIFORM_BOUND = 0.005
"""Half-width of "uniform": a later text of Simoulin & Crabbé's chapter."""


def initialise(module: nn.Module, init: Init, *, block_rows: int) -> None:
    """Sets every bias of ``module`` to zero and every matrix by ``init``, in place.

    "xavier" is Xavier-uniform (Simoulin & Crabbé 2021, section Experiments: "a Xavier distribution
    and biases set to 0"), "uniform" is uniform in ±0.005.

    Args:
        module: its vectors are biases; its matrices are stacks of gates.
        init: the scheme.
        block_rows: rows of one gate. Xavier's fan-out is one gate's, not the stack's, as the
            papers write each gate as a matrix of its own.

    Raises:
        ValueError: no such scheme.
    """
    if init not in get_args(Init):
        raise ValueError(f"unknown init {init!r}; known: {', '.join(get_args(Init))}")
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.dim() == 1:
                parameter.zero_()
            else:
                _fill(parameter, init, block_rows)


def _fill(matrix: Tensor, init: Init, block_rows: int) -> None:
    for block in matrix.split(block_rows):
        if init == "xavier":
            nn.init.xavier_uniform_(block)
        else:
            nn.init.uniform_(block, -UNIFORM_BOUND, UNIFORM_BOUND)
