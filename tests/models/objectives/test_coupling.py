"""Coupling layers: exact inverses, a part that stays, gradients; float64 throughout."""

from __future__ import annotations

from itertools import product
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.objectives.decoders import BijectiveDecoder, CouplingLayer


def make_layer(size: int, *, keeps_first: bool = True, **fields: Any) -> CouplingLayer:
    torch.manual_seed(1)
    config = TrainingConfig(views=("SEQ",), objective="generative", decoder="bijective", **fields)
    return CouplingLayer(size, config, keeps_first=keeps_first).double()


def make_decoder(size: int, word_size: int, **fields: Any) -> BijectiveDecoder:
    torch.manual_seed(1)
    config = TrainingConfig(views=("SEQ",), objective="generative", decoder="bijective", **fields)
    return BijectiveDecoder(sentence_size=size, word_size=word_size, config=config).double()


def make_vectors(rows: int, size: int) -> Tensor:
    generator = torch.Generator().manual_seed(2)
    return torch.randn(rows, size, dtype=torch.float64, generator=generator)


def through_couplings(decoder: BijectiveDecoder, sentences: Tensor) -> Tensor:
    for coupling in decoder.couplings:
        sentences = coupling(sentences)
    return sentences


def back_through_couplings(decoder: BijectiveDecoder, sentences: Tensor) -> Tensor:
    for coupling in reversed(decoder.couplings):
        sentences = cast(CouplingLayer, coupling).inverse(sentences)
    return sentences


@pytest.mark.parametrize("size", [2, 7, 12])
@pytest.mark.parametrize("partition", ["halves", "alternate"])
def test_couplings_are_undone_to_rounding(size: int, partition: str) -> None:
    inputs = make_vectors(5, size)
    options = product((1, 2, 3, 5), (1, 3), (None, 4), ("relu", "tanh"), ("he", "orthonormal"))

    for layers, depth, width, activation, init in options:
        decoder = make_decoder(
            size,
            3,
            coupling_layers=layers,
            coupling_partition=partition,
            coupling_depth=depth,
            coupling_width=width,
            coupling_activation=activation,
            init=init,
        )

        there_and_back = back_through_couplings(decoder, through_couplings(decoder, inputs))
        back_and_there = through_couplings(decoder, back_through_couplings(decoder, inputs))

        torch.testing.assert_close(there_and_back, inputs, rtol=0, atol=1e-10)
        torch.testing.assert_close(back_and_there, inputs, rtol=0, atol=1e-10)


def test_the_inverse_is_the_transpose_and_then_the_couplings_undone() -> None:
    decoder = make_decoder(7, 3, coupling_layers=3)
    words = make_vectors(4, 3)

    inverse = decoder.inverse(words)

    transposed = words @ decoder.linear.projection.weight
    torch.testing.assert_close(inverse, back_through_couplings(decoder, transposed))
    torch.testing.assert_close(through_couplings(decoder, inverse), transposed)


@pytest.mark.parametrize(
    ("partition", "size", "keeps_first", "kept", "moved"),
    [
        ("halves", 5, True, [0, 1], [2, 3, 4]),
        ("halves", 5, False, [2, 3, 4], [0, 1]),
        ("alternate", 5, True, [0, 2, 4], [1, 3]),
        ("alternate", 5, False, [1, 3], [0, 2, 4]),
    ],
)
def test_one_part_stays_and_moves_the_other_by_the_network_of_it(
    partition: str, size: int, keeps_first: bool, kept: list[int], moved: list[int]
) -> None:
    layer = make_layer(size, keeps_first=keeps_first, coupling_partition=partition)
    inputs = make_vectors(4, size)

    outputs = layer(inputs)

    assert torch.equal(outputs[:, kept], inputs[:, kept])
    torch.testing.assert_close(outputs[:, moved], inputs[:, moved] + layer.network(inputs[:, kept]))


def test_a_network_has_the_width_and_the_hidden_layers_asked_for() -> None:
    layer = make_layer(7, coupling_width=5, coupling_depth=2)

    shapes = [tuple(parameter.shape) for parameter in layer.network.parameters()]

    assert shapes == [(5, 3), (5,), (5, 5), (5,), (4, 5), (4,)]


def test_orthonormal_networks_start_orthonormal_to_their_last_layer() -> None:
    layer = make_layer(8, init="orthonormal")

    for name, parameter in layer.network.named_parameters():
        if name.endswith("bias"):
            assert not parameter.any()
        else:
            gram = parameter @ parameter.T
            torch.testing.assert_close(gram, torch.eye(4, dtype=torch.float64), rtol=0, atol=1e-5)


@pytest.mark.parametrize("partition", ["halves", "alternate"])
def test_gradients_of_both_directions_are_right(partition: str) -> None:
    decoder = make_decoder(
        5, 3, coupling_layers=3, coupling_partition=partition, coupling_activation="tanh"
    )
    parameters = tuple(decoder.parameters())
    sentences = make_vectors(3, 5).requires_grad_()
    words = make_vectors(3, 3).requires_grad_()

    # The parameters are perturbed in place, so the functions read them through the decoder.
    assert torch.autograd.gradcheck(lambda z, *_: decoder(z), (sentences, *parameters))
    assert torch.autograd.gradcheck(lambda x, *_: decoder.inverse(x), (words, *parameters))


def test_one_component_has_no_parts() -> None:
    with pytest.raises(ValueError, match="sentence_size of 2 or more, got 1"):
        make_layer(1)
