"""The encoders that ship: what they make of any text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from treeviews import models
from treeviews.models.encoding.encoder import Encoder
from treeviews.pipeline.base.bundled import BUNDLED_MODELS

MOST_BYTES = 25_000_000


@pytest.fixture(scope="module")
def english() -> Encoder:
    return models.load("english", on_refusal="zero")


def cosine(first: np.ndarray, second: np.ndarray) -> float:
    return float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))


def test_a_paraphrase_is_nearer_than_another_sentence(english: Encoder) -> None:
    vectors = english.encode(
        ["A man is playing a guitar.", "Someone plays the guitar.", "The bank raised its rates."]
    )
    assert vectors.shape == (3, 300) and vectors.dtype == np.float32
    assert cosine(vectors[0], vectors[1]) > 0.5 > cosine(vectors[0], vectors[2]) + 0.2


@pytest.fixture(scope="module")
def trees() -> Encoder:
    return models.load("english-trees", on_refusal="zero")


def test_trees_stand_beside_the_words_of_english(trees: Encoder, english: Encoder) -> None:
    sentences = ["A man is playing a guitar.", "The bank raised its rates."]
    views = trees.encode_views(sentences)
    assert list(views) == ["0-DEP.last", "1-CONST.last", "2-BOW.last"]
    words, beside = english.encode(sentences), views["2-BOW.last"]
    assert cosine(words[0], words[1]) == pytest.approx(cosine(beside[0], beside[1]), abs=1e-5)
    for view, length in (("0-DEP.last", 1.0), ("1-CONST.last", 1.0), ("2-BOW.last", 1.4)):
        np.testing.assert_allclose(np.linalg.norm(views[view], axis=1), length, rtol=1e-5)


def test_trees_hear_what_a_mean_of_words_does_not(trees: Encoder, english: Encoder) -> None:
    """The order of words, and a small word."""
    asked = ["The dog chased the cat.", "The cat chased the dog."]
    bag = english.encode(asked)
    assert cosine(bag[0], bag[1]) == pytest.approx(1.0, abs=1e-6)
    first, second = trees.encode(asked)
    assert cosine(first, second) < 0.999
    whole = ["A man is playing a guitar.", "A man is not playing a guitar."]
    (before, after), (words, more_words) = trees.encode(whole), english.encode(whole)
    assert cosine(before, after) < cosine(words, more_words) - 0.05


@pytest.mark.parametrize("name", ["english", "english-trees"])
def test_they_are_small_and_name_no_place(name: str) -> None:
    folder = Path(BUNDLED_MODELS[name])
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= MOST_BYTES
    assert "/" not in (folder / "model.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "refused"), [("english", [1]), ("english-trees", [1, 3])])
def test_any_text_has_a_defined_vector(
    name: str, refused: list[int], english: Encoder, trees: Encoder
) -> None:
    encoder = {"english": english, "english-trees": trees}[name]
    vectors = encoder.encode(["qzxvwwqk zzqjx", "", "dog", "word " * 2_000])
    assert np.isfinite(vectors).all() and vectors[2].any() and not vectors[refused].any()
    assert [refusal.index for refusal in encoder.refused] == refused
