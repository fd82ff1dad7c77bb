"""How an encoder's weights start."""

from __future__ import annotations

from typing import get_args

import torch
from torch import Tensor, nn

from models.variants import Init

UNIFORM_BOUND = 0.005
"""Half-width of "uniform": a later text of Simoulin & Crabbé's chapter."""
OPEN_FORGET_BIAS = 1.0
"""Of the forget gates under "xavier_open": at 0 a gate halves a memory at every level of a tree, so
that little of a deep word reaches the root (Gers et al. 2000; Tang & de Sa 2018 set gates' biases
to 1)."""


def initialise(module: nn.Module, init: Init, *, block_rows: int) -> None:
    """Sets every bias of ``module`` to zero and every matrix by ``init``, in place.

    "xavier" is Xavier-uniform (Simoulin & Crabbé 2021, section Experiments: "a Xavier distribution
    and biases set to 0"), "uniform" is uniform in ±0.005, "xavier_open" is "xavier" but for the
    forget gates' biases, which `open_forget_gates` sets.

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


def open_forget_gates(bias: Tensor, init: Init) -> None:
    """Sets the forget gates' bias to 1 under "xavier_open", in place; leaves it otherwise."""
    if init == "xavier_open":
        with torch.no_grad():
            bias.fill_(OPEN_FORGET_BIAS)


def _fill(matrix: Tensor, init: Init, block_rows: int) -> None:
    for block in matrix.split(block_rows):
        if init != "uniform":
            nn.init.xavier_uniform_(block)
        else:
            nn.init.uniform_(block, -UNIFORM_BOUND, UNIFORM_BOUND)
