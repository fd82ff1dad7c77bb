"""The views of a finished model, the inverse of its decoder among them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.support.tree_oracles import SentenceBatch
from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.config.views import Pooling
from treeviews.models.encoding.encoder_names import placed
from treeviews.models.model.sentence_model import SentenceModel, SentenceViews, build_model
from treeviews.models.words.word_vectors import WordVectors

SIZE, WIDTH = 4, 6
ALL: tuple[Pooling, ...] = ("last", "max", "mean", "min")


def make_model(**fields: Any) -> SentenceModel:
    rows = np.random.default_rng(2).normal(size=(8, SIZE)).astype(np.float32)
    vectors = WordVectors.from_rows([f"w{number}" for number in range(8)], rows)
    fields = {"views": ("SEQ",), "objective": "generative", "init": "orthonormal"} | fields
    return build_model(TrainingConfig(hidden_size=WIDTH, **fields), vectors, seed=3).double()


BATCH = SentenceBatch.from_arrays([3, 1, 3, 0, 7, 2], [0, 4, 6])


@pytest.mark.parametrize("decoder", ["linear", "bijective"])
def test_the_inverse_is_pooled_over_the_words(decoder: str) -> None:
    model = make_model(decoder=decoder)
    views = SentenceViews(model)

    (_, inverse) = views.pool(BATCH, ALL)

    assert model.decoder is not None
    words = model.encoder.look_up(torch.tensor([3, 1, 3, 0, 7, 2]))[0]
    states = model.decoder.inverse(words).detach()
    for sentence, part in enumerate((states[:4], states[4:])):
        expected = {"last": part.mean(0), "max": part.amax(0), "min": part.amin(0)}
        expected["mean"] = expected["last"]
        for pooling in ALL:
            torch.testing.assert_close(inverse[pooling][sentence], expected[pooling])


@pytest.mark.parametrize(
    ("fields", "names", "widths"),
    [
        ({}, ["0-SEQ", "1-INV"], (WIDTH, WIDTH)),
        ({"views": ("SEQ", "LIN"), "objective": "both"}, ["0-SEQ", "1-LIN", "2-INV"], (WIDTH,) * 3),
        ({"views": ("LIN",), "objective": "discriminative"}, ["0-LIN"], (WIDTH,)),
        ({"views": ("SEQ", "BOW"), "objective": "contrastive"}, ["0-SEQ", "1-BOW"], (WIDTH, SIZE)),
        (
            {"views": ("SEQ", "LIN"), "objective": "contrastive", "words_beside": 1.0}
            | {"word_vectors": "trained", "trained_word_size": SIZE + 1, "init": "xavier"},
            ["0-SEQ", "1-LIN", "2-BOW"],
            (WIDTH, WIDTH, SIZE + 1),
        ),
    ],
)
def test_views_are_named_by_their_place(
    fields: dict[str, Any], names: list[str], widths: tuple[int, ...]
) -> None:
    views = SentenceViews(make_model(**fields))

    assert list(placed(views.views)) == names
    assert views.widths == widths
    assert tuple(view.shape[1] for view in views(BATCH)) == widths


def test_words_stand_beside_the_views_at_their_weight() -> None:
    contrastive = {"views": ("SEQ", "LIN"), "objective": "contrastive"}
    model = make_model(**contrastive, words_beside=2.0)
    alone = SentenceViews(make_model(**contrastive))

    views = SentenceViews(model)
    seq, lin, words = views.pool(BATCH, ALL)

    assert views.views == ("SEQ", "LIN", "BOW")
    assert views.widths == (WIDTH, WIDTH, SIZE)
    mean = model.encoder.look_up(torch.tensor([7, 2]))[0].mean(0)
    torch.testing.assert_close(words["last"][1], 2 * mean / mean.norm())
    for view, bare in zip((seq, lin), alone.pool(BATCH, ALL), strict=True):
        for pooling in ALL:
            expected = torch.nn.functional.normalize(bare[pooling], dim=1)
            torch.testing.assert_close(view[pooling], expected)


def test_a_view_reads_words_alike_and_sums_read_them_as_they_weigh() -> None:
    fields = {"views": ("SEQ", "BOW"), "objective": "contrastive", "word_weights": "sif"}
    rms = 0.5
    alike, plain = (
        make_model(**fields, read_rms=rms),
        make_model(**(fields | {"word_weights": "none"}), unit_words=True, vector_rms=rms),
    )

    seq, bag = SentenceViews(alike)(BATCH)
    expected, _ = SentenceViews(plain)(BATCH)

    torch.testing.assert_close(seq, expected)
    words = alike.encoder.look_up(torch.tensor([7, 2]))[0]
    torch.testing.assert_close(bag[1], words.mean(0))
    assert words[0].norm() != words[1].norm()
