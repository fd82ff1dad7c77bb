"""The arithmetic of the recurrent encoder, which is two thirds of the time of parsing.

Scores, and so the comparison of near equals, stay in the weights' own arithmetic.
"""

from __future__ import annotations

import copy

import torch

from pipeline.parsers.dependency.network import BiaffineNetwork
from pipeline.parsers.precision import dtype_for


def with_precision(network: BiaffineNetwork, precision: str) -> BiaffineNetwork:
    """Returns a network whose encoder computes as the precision and the network's device say.

    Args:
        network: not changed; the one that is returned shares its other weights.
        precision: ``exact`` or ``fast``.

    Raises:
        ValueError: another precision.
    """
    dtype = dtype_for(precision, next(network.parameters()).device)
    if dtype == torch.float32:
        return network
    changed = copy.copy(network)
    changed._modules = dict(network._modules)
    changed.encoder = copy.deepcopy(network.encoder).to(dtype)
    return changed


def encoder_dtype(network: BiaffineNetwork) -> torch.dtype:
    """Returns the type of the encoder's weights."""
    dtype: torch.dtype = next(network.encoder.parameters()).dtype
    return dtype
