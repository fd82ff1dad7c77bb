"""Linear decoders and their orthonormal update; what both kinds of decoders share."""

from __future__ import annotations

from typing import Any, cast

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.objectives.decoders import (
    Decoder,
    LinearDecoder,
    build_decoder,
    orthonormality_defect,
    update_towards_orthonormal,
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


def singular_values(matrix: Tensor) -> Tensor:
    return cast(Tensor, torch.linalg.svdvals(matrix.detach().double()))


def make_decoder(
    kind: str = "linear", *, sentence_size: int, word_size: int, **fields: Any
) -> nn.Module:
    torch.manual_seed(1)
    config = TrainingConfig(views=("SEQ",), objective="generative", decoder=kind, **fields)  # type: ignore[arg-type]
    return build_decoder(config, sentence_size=sentence_size, word_size=word_size)


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


def train(decoder: nn.Module, *, steps: int, falls: bool = False) -> tuple[float, float]:
    """Trains a decoder and sentence vectors to tell the words of the next sentence from drawn ones.

    As published: vectors bounded as a GRU's are, negative sampling with K = 5, Adam at 5e-4, and
    the decoder's update after each step.

    Args:
        decoder: from 24 to 6 dimensions or back.
        steps: of 16 of 40 sentences each.
        falls: whether the learning rate falls to zero, which the papers' does not.

    Returns:
        The loss of all sentences against all words before the first step and after the last.
    """
    shaped = cast(Decoder, decoder)
    generator = torch.Generator().manual_seed(7)
    words = torch.randn(60, shaped.word_size, generator=generator)
    next_words = torch.randint(60, (40, 8), generator=generator)
    sentences = nn.Parameter(0.3 * torch.randn(40, shaped.sentence_size, generator=generator))
    optimizer = torch.optim.Adam([sentences, *decoder.parameters()], lr=5e-4)

    def loss_of(rows: Tensor, drawn: Tensor) -> Tensor:
        x = shaped(torch.tanh(sentences[rows]))
        right = torch.einsum("be,bme->bm", x, words[next_words[rows]])
        return F.softplus(-right).mean() + 5 * F.softplus(x @ words[drawn].T).mean()

    everything = torch.arange(40), torch.arange(60)
    first = loss_of(*everything).item()
    for step in range(steps):
        optimizer.zero_grad()
        rows = torch.randint(40, (16,), generator=generator)
        loss_of(rows, torch.randint(60, (20,), generator=generator)).backward()
        if falls:
            optimizer.param_groups[0]["lr"] = 5e-4 * (1 - step / steps)
        optimizer.step()
        shaped.constrain()
    return first, loss_of(*everything).item()


@pytest.mark.parametrize("shape", [WIDE, SQUARE, TALL])
def test_the_update_is_the_published_formula(shape: tuple[int, int]) -> None:
    before = make_matrix(shape)
    updated = before.clone()

    update_towards_orthonormal(updated, 0.01)

    torch.testing.assert_close(updated, 1.01 * before - 0.01 * (before @ before.T) @ before)


@pytest.mark.parametrize("shape", [WIDE, TALL])
def test_the_update_moves_singular_values_and_leaves_the_vectors(shape: tuple[int, int]) -> None:
    values = [1.8, 1.2, 0.7, 0.1]
    matrix = with_singular_values(shape, values)
    expected = with_singular_values(shape, [1.1 * v - 0.1 * v**3 for v in values])

    update_towards_orthonormal(matrix, 0.1)

    torch.testing.assert_close(matrix, expected)


@pytest.mark.parametrize("shape", [WIDE, SQUARE, TALL])
def test_the_repeated_update_ends_at_the_nearest_orthonormal_matrix(
    shape: tuple[int, int],
) -> None:
    matrix = make_matrix(shape)
    left, _, right = torch.linalg.svd(matrix, full_matrices=False)

    for _ in range(3000):
        update_towards_orthonormal(matrix, 0.05)

    torch.testing.assert_close(matrix, left @ right)


@pytest.mark.parametrize("shape", [WIDE, TALL])
def test_the_defect_is_that_of_the_smaller_gram_matrix(shape: tuple[int, int]) -> None:
    matrix = with_singular_values(shape, [2.0, 1.0, 1.0, 0.5])

    defect = orthonormality_defect(matrix)

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
def test_words_survive_the_way_to_wider_sentences_and_back(kind: str) -> None:
    decoder = make_orthonormal_decoder(kind, sentence_size=9, word_size=4)
    words = make_matrix((3, 4))

    torch.testing.assert_close(decoder(decoder.inverse(words)), words, rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_narrower_sentences_survive_the_way_to_words_and_back(kind: str) -> None:
    decoder = make_orthonormal_decoder(kind, sentence_size=4, word_size=9)
    sentences = make_matrix((3, 4))

    torch.testing.assert_close(decoder.inverse(decoder(sentences)), sentences, rtol=0, atol=1e-10)


@pytest.mark.parametrize("shape", [(6, 24), (24, 6)])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("init", "orthonormal_rate", "falls"), [("he", 0.01, True), ("orthonormal", 0.5, False)]
)
def test_singular_values_are_near_1_after_training(
    kind: str, shape: tuple[int, int], init: str, orthonormal_rate: float, falls: bool
) -> None:
    decoder = make_decoder(
        kind,
        sentence_size=shape[1],
        word_size=shape[0],
        init=init,
        orthonormal_rate=orthonormal_rate,
    )

    first, last = train(decoder, steps=400 if falls else 100, falls=falls)

    assert last < first
    assert (singular_values(projection(decoder)) - 1).abs().max() < 1e-2


def test_without_the_update_training_leaves_singular_values_away_from_1() -> None:
    decoder = make_decoder(sentence_size=24, word_size=6, init="he", orthonormal_rate=0.0)

    train(decoder, steps=100, falls=True)

    assert (singular_values(projection(decoder)) - 1).abs().max() > 0.1


@pytest.mark.parametrize("shape", [WIDE, TALL])
def test_gradients_of_both_directions_are_right(shape: tuple[int, int]) -> None:
    word_size, sentence_size = shape
    decoder = cast(
        LinearDecoder, make_decoder(sentence_size=sentence_size, word_size=word_size).double()
    )
    sentences = make_matrix((3, sentence_size)).requires_grad_()
    words = make_matrix((3, word_size)).requires_grad_()

    # The matrix is perturbed in place, so the functions read it through the decoder.
    matrix = projection(decoder)
    assert torch.autograd.gradcheck(lambda z, _: decoder(z), (sentences, matrix))
    assert torch.autograd.gradcheck(lambda x, _: decoder.inverse(x), (words, matrix))


@pytest.mark.parametrize("kind", KINDS)
def test_the_constraint_moves_nothing_but_the_projection(kind: str) -> None:
    decoder = make_decoder(kind, sentence_size=9, word_size=4)
    before = {name: value.clone() for name, value in decoder.state_dict().items()}

    cast(Decoder, decoder).constrain()

    moved = [n for n, value in decoder.state_dict().items() if not torch.equal(value, before[n])]
    assert len(moved) == 1
    assert moved[0].endswith("projection.weight")


def test_the_projection_starts_as_init_says() -> None:
    decoder = make_decoder(sentence_size=9, word_size=4, init="orthonormal")

    assert cast(Decoder, decoder).orthonormality() < 1e-5


@pytest.mark.parametrize(
    ("kind", "sentence_size", "parameters"),
    [
        ("linear", 2048, 300 * 2048),
        ("linear", 2400, 300 * 2400),
        ("bijective", 2400, 300 * 2400 + 2 * 2 * (1200 * 1200 + 1200)),
    ],
)
def test_decoders_have_the_parameters_of_their_matrices(
    kind: str, sentence_size: int, parameters: int
) -> None:
    decoder = make_decoder(kind, sentence_size=sentence_size, word_size=300)

    assert sum(parameter.numel() for parameter in decoder.parameters()) == parameters


def test_a_rate_that_diverges_from_the_start_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"orthonormal_rate 0.5 diverges from init 'he'.*less than"
    ):
        make_decoder(sentence_size=8, word_size=60, orthonormal_rate=0.5, init="he")
