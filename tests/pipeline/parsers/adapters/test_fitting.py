"""A network that is built for weights has these, and all else as its code makes it."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from pipeline.parsers.parser_folder import built_to_fit


class Network(nn.Module):
    """Draws its weights, and has constants that no file holds."""

    def __init__(self, width: int = 3) -> None:
        super().__init__()
        self.square = nn.Parameter(torch.empty(width, width))
        self.words = nn.Embedding(5, width, padding_idx=0)
        self.register_buffer("places", torch.arange(width), persistent=False)
        self.register_buffer("scale", torch.full((1,), 2.0))
        nn.init.orthogonal_(self.square)
        nn.init.normal_(self.words.weight)


def test_weights_are_those_given_and_constants_those_of_the_code() -> None:
    weights = {name: torch.full_like(value, 7) for name, value in Network().state_dict().items()}
    before = torch.random.get_rng_state()
    network = built_to_fit(Network, weights)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(torch.equal(value, weights[name]) for name, value in network.state_dict().items())
    assert network.places.tolist() == [0, 1, 2]
    assert {str(value.device) for value in network.state_dict().values()} == {"cpu"}


def test_weights_of_another_shape_are_refused() -> None:
    weights = Network(4).state_dict()
    with pytest.raises(ValueError, match=r"square \[4, 4\] instead of \[3, 3\]"):
        built_to_fit(Network, weights)
