"""supar's network with weights that no longer change, laid out once for the fastest products.

Dozat & Manning 2017, section 2.2. The recurrent encoder, which is two thirds of the time of
parsing, may compute in a faster type; scores, and so the comparison of near equals, stay in the
weights' own arithmetic.
Legend: B sentences, T positions, D features, M arcs, R relations.
"""

from __future__ import annotations

import copy

import torch
from supar.modules import MLP, Biaffine
from torch import Tensor, nn

from pipeline.parsers.adapters.fixed_product import FixedProduct
from pipeline.parsers.dependency.network import BiaffineNetwork

ARCS_AT_ONCE = {"cpu": 128, "cuda": 1 << 14}
"""Arcs whose R x D products are held at a time: in a core's cache they take a third of the time."""


def for_prediction(network: BiaffineNetwork, dtype: torch.dtype) -> BiaffineNetwork:
    """Returns a network for prediction alone, which shares all but its scorers and its encoder.

    Args:
        network: not changed.
        dtype: of the encoder's products; its weights are shared where they are of this type.
    """
    fixed = copy.copy(network)
    fixed._modules = dict(network._modules)
    if dtype != next(network.encoder.parameters()).dtype:
        fixed.encoder = copy.deepcopy(network.encoder).to(dtype)
    for name in ("arc_mlp_d", "arc_mlp_h", "rel_mlp_d", "rel_mlp_h"):
        setattr(fixed, name, _FixedMlp(getattr(network, name)))
    fixed.arc_attn = _FixedBiaffine(network.arc_attn)
    fixed.rel_attn = FixedRelations(network.rel_attn)
    return fixed


class _FixedMlp(nn.Module):
    def __init__(self, mlp: MLP) -> None:
        super().__init__()
        self._product = FixedProduct(mlp.linear.weight.T, mlp.linear.bias)
        self._activation = mlp.activation

    def forward(self, states_BTD: Tensor) -> Tensor:
        products = self._product(states_BTD.flatten(0, 1))
        activated: Tensor = self._activation(products.unflatten(0, states_BTD.shape[:2]))
        return activated


class _FixedBiaffine(nn.Module):
    """Scores every arc; the bias of the dependents' side only, as supar's arcs have it."""

    def __init__(self, biaffine: Biaffine) -> None:
        super().__init__()
        (weight,) = biaffine.weight.detach()
        self._product = FixedProduct(weight[:-1], weight[-1])

    def forward(self, dependents_BTD: Tensor, heads_BTD: Tensor) -> Tensor:
        projected = self._product(dependents_BTD.flatten(0, 1))
        return torch.bmm(projected.view_as(heads_BTD), heads_BTD.mT)


class FixedRelations(nn.Module):
    """The relations' side of the dependents; both sides have a bias."""

    def __init__(self, biaffine: Biaffine) -> None:
        """Takes the weight over as it is now."""
        super().__init__()
        self._num_relations, width, self._width = biaffine.weight.shape
        weight = biaffine.weight.detach().permute(1, 0, 2).reshape(width, -1)
        self._product = FixedProduct(weight[:-1], weight[-1], block_rows=ARCS_AT_ONCE["cpu"])

    def forward(self, dependents_MD: Tensor) -> Tensor:
        """Returns ``[M, R, D + 1]``, whose products with heads and their 1 are the scores."""
        projected: Tensor = self._product(dependents_MD)
        return projected.view(-1, self._num_relations, self._width)
