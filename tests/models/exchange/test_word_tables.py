"""Encoders that are means of words, as other libraries open them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from tests.support.parsed_corpora import write_vectors
from tests.support.saved_models import write_model
from tests.support.static_encoders import AWKWARD, means
from treeviews import models
from treeviews.models.encoding.load_encoder import load_encoder
from treeviews.models.exchange.export_card import ExportOptions
from treeviews.models.exchange.export_model import export_model
from treeviews.models.exchange.tokenizer_json import WORD, tokenizer_json
from treeviews.models.exchange.word_tables import write_word_table
from treeviews.pipeline.text.tokenization import EnglishTokenizer, clean_text

FOR_OTHERS = ExportOptions(format="sentence-transformers")


@pytest.fixture(scope="module")
def english(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("static") / "english"
    export_model("english", out, FOR_OTHERS)
    return out


def tokens_of(text: str) -> list[str]:
    tokenizer = Tokenizer.from_str(json.dumps(tokenizer_json({}, lower_case=False)))
    marked = tokenizer.normalizer.normalize_str(text)
    pieces = tokenizer.pre_tokenizer.pre_tokenize_str(marked)
    return [piece.removeprefix(WORD) for piece, _ in pieces]


@pytest.mark.parametrize("text", AWKWARD)
def test_text_is_cut_as_ours_is(text: str) -> None:
    (expected,) = EnglishTokenizer().tokenize([clean_text(text)[0]])
    assert tokens_of(text) == expected.words


def test_english_gives_the_same_vectors(english: Path) -> None:
    expected = models.load("english").encode(AWKWARD)
    np.testing.assert_allclose(means(english, AWKWARD), expected, atol=1e-6)


@pytest.mark.parametrize("name", ["bag_of_words", "sif"])
def test_baselines_give_the_same_vectors(name: str, tmp_path: Path) -> None:
    export_model(name, tmp_path / "out", FOR_OTHERS)
    known = [text for text in AWKWARD if "iPhone" not in text]
    expected = load_encoder(name).encode(known)
    np.testing.assert_allclose(means(tmp_path / "out", known), expected, atol=1e-6)


@pytest.mark.parametrize("words", [("Paris", "NASA"), ("the", "The", "THE")])
def test_words_with_case_that_have_no_further_spelling_are_read_as_they_stand(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    table = np.eye(len(words) + 1, dtype=np.float32)
    write_word_table(tmp_path, ("[unknown]", *words), table)
    np.testing.assert_array_equal(means(tmp_path, words), table[1:])


STORY = ["the cat sees the dog", "Goats like zzz!", "the mouse is outside"]


@pytest.mark.parametrize(
    "changes",
    [
        {"views": ("LIN", "BOW")},
        {"views": ("LIN",), "objective": "generative"},
        {"views": ("BOW", "BOW"), "word_weights": "sif", "unit_words": True},
    ],
    ids=["a linear map", "the inverse of a decoder", "weights"],
)
def test_any_model_of_means_is_a_table(changes: dict[str, object], tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m", write_vectors(tmp_path / "v"), **changes)
    export_model(folder, tmp_path / "out", FOR_OTHERS)
    expected = models.load(folder).encode(STORY)
    np.testing.assert_allclose(means(tmp_path / "out", STORY), expected, atol=1e-6)


def test_an_unknown_word_counts_in_the_length(english: Path) -> None:
    one, two = means(english, ["dog", "dog qzxvwwqk"])
    np.testing.assert_allclose(two, one / 2, atol=1e-6)


def test_trees_are_no_table_of_words(tmp_path: Path) -> None:
    options = ExportOptions(format="model2vec")
    with pytest.raises(ValueError, match="views DEP, CONST read the order or the trees"):
        export_model("english-trees", tmp_path / "out", options)


def test_sentence_transformers_opens_it_by_itself(english: Path) -> None:
    library = pytest.importorskip("sentence_transformers")
    model = library.SentenceTransformer(str(english), device="cpu")
    expected = models.load("english").encode(AWKWARD)
    np.testing.assert_allclose(model.encode(AWKWARD), expected, atol=1e-6)
    assert not model.encode([""]).any()


def test_model2vec_opens_it_too(english: Path) -> None:
    library = pytest.importorskip("model2vec")
    model = library.StaticModel.from_pretrained(english)
    long = " ".join(["the cat sat"] * 400)
    expected = models.load("english").encode([*AWKWARD, long])
    np.testing.assert_allclose(model.encode([*AWKWARD, long]), expected, atol=1e-6)
