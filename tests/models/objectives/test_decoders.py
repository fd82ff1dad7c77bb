"""Linear decoders and their orthonormal update; what both kinds of decoders share."""

from __future__ import annotations

from itertools import product
from typing import Any, cast

import pytest
import torch
from torch import Tensor, nn

from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.objectives.decoders import (
    BijectiveDecoder,
    CouplingLayer,
    Decoder,
    LinearDecoder,
)

WIDE, SQUARE, TALL = (4, 9), (5, 5), (9, 4)
"""Sizes [E, D]: rows, both, columns orthonormal."""
KINDS = ("linear", "bijective")


def make_matrix(shape: tuple[int, int]) -> Tensor:
    generator = torch.Generator().manual_seed(2)
    return torch.randn(shape, dtype=torch.float64, generator=generator)


def with_singular_values(shape: tuple[int, int], values: list[float]) -> Tensor:
    left, _, right = torch.linalg.svd(make_matrix(shape), full_matrices=False)
    return cast(Tensor, left @ torch.tensor(values, dtype=torch.float64).diag() @ right)


def make_decoder(
    kind: str = "linear", *, sentence_size: int, word_size: int, **fields: Any
) -> nn.Module:
    torch.manual_seed(1)
    config = TrainingConfig(views=("SEQ",), objective="generative", decoder=kind, **fields)  # type: ignore[arg-type]
    made = BijectiveDecoder if kind == "bijective" else LinearDecoder
    return made(sentence_size=sentence_size, word_size=word_size, config=config)


def make_orthonormal_decoder(kind: str, *, sentence_size: int, word_size: int) -> Decoder:
    """Returns a decoder in float64 whose projection is orthonormal to rounding."""
    decoder = make_decoder(
        kind,
        sentence_size=sentence_size,
        word_size=word_size,
        init="orthonormal",
        orthonormal_rate=0.5,
    ).double()
    for _ in range(3):
        cast(Decoder, decoder).constrain()
    return cast(Decoder, decoder)


def projection(decoder: nn.Module) -> Tensor:
    return next(p for name, p in decoder.named_parameters() if name.endswith("projection.weight"))


def decoder_of(matrix: Tensor, rate: float) -> LinearDecoder:
    word_size, sentence_size = matrix.shape
    made = make_decoder(sentence_size=sentence_size, word_size=word_size, orthonormal_rate=rate)
    decoder = cast(LinearDecoder, made.double())
    with torch.no_grad():
        decoder.projection.weight.copy_(matrix)
    return decoder


@pytest.mark.parametrize("shape", [WIDE, SQUARE, TALL])
def test_the_update_is_the_published_formula(shape: tuple[int, int]) -> None:
    before = make_matrix(shape)
    decoder = decoder_of(before, 0.01)

    decoder.constrain()

    updated = projection(decoder).detach()
    torch.testing.assert_close(updated, 1.01 * before - 0.01 * (before @ before.T) @ before)


@pytest.mark.parametrize("shape", [WIDE, TALL])
def test_the_update_moves_singular_values_and_leaves_the_vectors(shape: tuple[int, int]) -> None:
    values = [1.8, 1.2, 0.7, 0.1]
    decoder = decoder_of(with_singular_values(shape, values), 0.1)
    expected = with_singular_values(shape, [1.1 * v - 0.1 * v**3 for v in values])

    decoder.constrain()

    torch.testing.assert_close(projection(decoder).detach(), expected)


@pytest.mark.parametrize("shape", [WIDE, TALL])
def test_the_defect_is_that_of_the_smaller_gram_matrix(shape: tuple[int, int]) -> None:
    defect = decoder_of(with_singular_values(shape, [2.0, 1.0, 1.0, 0.5]), 0.01).orthonormality()

    # σ² - 1 is 3, 0, 0 and -0.75.
    torch.testing.assert_close(defect.item(), (9 + 0.75**2) ** 0.5)


def test_a_linear_decoder_is_a_product_and_its_inverse_the_transpose() -> None:
    decoder = cast(LinearDecoder, make_decoder(sentence_size=9, word_size=4))
    matrix = projection(decoder)
    sentences, words = torch.randn(3, 9), torch.randn(3, 4)

    assert matrix.shape == (4, 9)
    torch.testing.assert_close(decoder(sentences), sentences @ matrix.T)
    torch.testing.assert_close(decoder.inverse(words), words @ matrix)


@pytest.mark.parametrize("kind", KINDS)
def test_the_narrower_space_survives_the_way_to_the_other_and_back(kind: str) -> None:
    vectors = make_matrix((3, 4))
    to_words = make_orthonormal_decoder(kind, sentence_size=4, word_size=9)
    from_words = make_orthonormal_decoder(kind, sentence_size=9, word_size=4)

    there_and_back = to_words.inverse(to_words(vectors)), from_words(from_words.inverse(vectors))

    for returned in there_and_back:
        torch.testing.assert_close(returned, vectors, rtol=0, atol=1e-10)


def test_a_rate_that_diverges_from_the_start_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"orthonormal_rate 0.5 diverges from init 'he'.*less than"
    ):
        make_decoder(sentence_size=8, word_size=60, orthonormal_rate=0.5, init="he")


def make_layer(size: int, *, keeps_first: bool = True, **fields: Any) -> CouplingLayer:
    torch.manual_seed(1)
    config = TrainingConfig(views=("SEQ",), objective="generative", decoder="bijective", **fields)
    return CouplingLayer(size, config, keeps_first=keeps_first).double()


def make_bijective(size: int, word_size: int, **fields: Any) -> BijectiveDecoder:
    decoder = make_decoder("bijective", sentence_size=size, word_size=word_size, **fields)
    return cast(BijectiveDecoder, decoder.double())


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
    inputs = make_matrix((5, size))
    options = product((1, 2, 3, 5), (1, 3), (None, 4), ("relu", "tanh"), ("he", "orthonormal"))

    for layers, depth, width, activation, init in options:
        decoder = make_bijective(
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
    decoder = make_bijective(7, 3, coupling_layers=3)
    words = make_matrix((4, 3))

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
    inputs = make_matrix((4, size))

    outputs = layer(inputs)

    assert torch.equal(outputs[:, kept], inputs[:, kept])
    torch.testing.assert_close(outputs[:, moved], inputs[:, moved] + layer.network(inputs[:, kept]))


@pytest.mark.parametrize("partition", ["halves", "alternate"])
def test_gradients_through_couplings_are_right(partition: str) -> None:
    decoder = make_bijective(
        5, 3, coupling_layers=3, coupling_partition=partition, coupling_activation="tanh"
    )
    parameters = tuple(decoder.parameters())
    sentences = make_matrix((3, 5)).requires_grad_()
    words = make_matrix((3, 3)).requires_grad_()

    # The parameters are perturbed in place, so the functions read them through the decoder.
    assert torch.autograd.gradcheck(lambda z, *_: decoder(z), (sentences, *parameters))
    assert torch.autograd.gradcheck(lambda x, *_: decoder.inverse(x), (words, *parameters))
