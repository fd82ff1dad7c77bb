"""What every encoder takes and gives: strings, options, threads, pickles, joined views."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from treeviews import models
from treeviews.models.config.views import Pooling
from treeviews.models.corpus.sentence_block import SentenceBlock
from treeviews.models.encoding.encoder import Encoder, EncoderSettings
from treeviews.models.encoding.search import FloatArray
from treeviews.models.encoding.sentence_reader import SentenceReader
from treeviews.models.encoding.view_models import ViewModel
from treeviews.models.words.word_vectors import WordVectors

SENTENCES = ["The cat sees the dog.", "It rains.", "Birds sing, don't they?", "Why?"]
NAMES = ["english", "bag_of_words", "sif", "english@BOW+english-trees@DEP", "own_lengths:encode"]
OWN = """
import numpy as np

def encode(sentences):
    return np.array([[len(one), one.count(" "), 1.0] for one in sentences])
"""


@pytest.fixture(autouse=True, scope="module")
def own_module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("own")
    (folder / "own_lengths.py").write_text(OWN, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield


@pytest.fixture(params=NAMES, scope="module")
def encoder(request: pytest.FixtureRequest) -> Encoder:
    return models.load(request.param, on_refusal="zero")


@pytest.fixture(scope="module")
def english() -> Encoder:
    return models.load("english", on_refusal="zero")


def test_one_string_gives_one_vector_and_a_list_a_row_each_in_order(encoder: Encoder) -> None:
    matrix = encoder.encode(SENTENCES)
    assert (matrix.dtype, matrix.shape) == (np.float32, (len(SENTENCES), encoder.dimension))
    for row, sentence in zip(matrix, SENTENCES, strict=True):
        np.testing.assert_allclose(encoder.encode(sentence), row, atol=1e-5)
    np.testing.assert_allclose(encoder.encode(SENTENCES[::-1]), matrix[::-1], atol=1e-5)
    np.testing.assert_allclose(encoder.encode(SENTENCES, batch_size=1), matrix, atol=1e-5)


def test_it_is_short_to_look_at_and_comes_back_from_a_pickle(encoder: Encoder) -> None:
    assert repr(encoder).startswith(f"Encoder('{encoder.name}'") and len(repr(encoder)) < 80
    again = pickle.loads(pickle.dumps(encoder))
    np.testing.assert_array_equal(again.encode(SENTENCES), encoder.encode(SENTENCES))
    assert again.digest == encoder.digest


def test_embeddings_may_have_length_1_and_are_compared(encoder: Encoder) -> None:
    plain, found = encoder.encode(SENTENCES), encoder.encode(SENTENCES, normalize=True)
    lengths = np.linalg.norm(plain, axis=1, keepdims=True)
    np.testing.assert_allclose(found, plain / lengths, atol=1e-5)
    cosines = encoder.similarity(plain)
    np.testing.assert_allclose(cosines, found @ found.T, atol=1e-5)
    pairwise = encoder.similarity_pairwise(plain[:2], plain[2:])
    np.testing.assert_allclose(pairwise, [cosines[0, 2], cosines[1, 3]], atol=1e-5)


def test_a_bar_goes_to_standard_error(encoder: Encoder, capsys: pytest.CaptureFixture[str]) -> None:
    encoder.encode(SENTENCES, show_progress=True)
    told = capsys.readouterr()
    assert "4/4" in told.err and told.out == ""
    encoder.encode(SENTENCES)
    assert capsys.readouterr().err == ""


class Table(list[str]):
    """Iterates over the names of its columns, as pandas' ``DataFrame`` does."""

    columns = ("text", "label")


@pytest.mark.parametrize(
    ("name", "sentences", "options", "said"),
    [
        ("english", SENTENCES, {"batch_size": 0}, "batch_size must be at least 1, got 0"),
        ("english", SENTENCES, {"pooling": "meen"}, "one or several of last, max, mean, min, got"),
        ("english", SENTENCES, {"pooling": ["max", "max"]}, "one or several of last"),
        ("own_lengths:encode", SENTENCES, {"pooling": ["mean"]}, "gives no states to pool"),
        ("own_lengths:encode", [], {}, "no sentences"),
        *[
            ("english", what, {}, f"give a list of sentences, not {type(what).__name__}")
            for what in (None, 3, b"The cat.", {"The cat."}, {"The cat.": 1})
        ],
        ("english", Table(["text", "label"]), {}, "not a table (Table): give one of its columns"),
    ],
)
def test_what_cannot_be_given_is_named(name: str, sentences: Any, options: Any, said: str) -> None:
    with pytest.raises(ValueError) as raised:
        models.load(name).encode(sentences, **options)
    assert said in str(raised.value)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["english", "english-trees"])
def test_threads_get_what_they_asked_for(name: str) -> None:
    encoder = models.load(name)
    many = [[f"{word} {sentence}" for sentence in SENTENCES * 5] for word in ("A", "B", "C", "D")]
    expected = [encoder.encode(sentences) for sentences in many]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(encoder.encode, many * 3))
    for one, other in zip(found, expected * 3, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


class Views(ViewModel):
    """A model with views of given widths, whose vectors are of its digest; counts its batches."""

    digest = ""

    def __init__(self, digest: str, **widths: int) -> None:
        views = {f"{i}-{name[:3]}": width for i, (name, width) in enumerate(widths.items())}
        words = WordVectors.from_rows(["a"], np.ones((1, 1), np.float32))
        super().__init__(SentenceReader(words, {}), views)
        self.digest = digest
        self.calls = 0

    def embed(self, block: SentenceBlock, pooling: Sequence[Pooling]) -> dict[str, FloatArray]:
        self.calls += 1
        return {
            key: np.full((len(block), width), sum(f"{self.digest} {key}".encode()), np.float32)
            for key, width in self.widths(pooling).items()
        }


def joined(*parts: tuple[Views, tuple[str, ...]]) -> Encoder:
    return Encoder(parts, settings=EncoderSettings(on_refusal="zero"))


def test_views_are_numbered_through_and_each_model_is_asked_once() -> None:
    f, g = Views("f", SEQ=4, INV=3), Views("g", LIN=5)
    whole = joined((f, ("INV",)), (g, ()), (f, ("SEQ",)))

    found = whole.encode_views(SENTENCES, ["mean", "max"])

    expected = {
        f"{view}.{pool}": (sum(f"{source}.{pool}".encode()), width)
        for view, source, width in [
            ("0-INV", "f 1-INV", 3),
            ("1-LIN", "g 0-LIN", 5),
            ("2-SEQ", "f 0-SEQ", 4),
        ]
        for pool in ("mean", "max")
    }
    assert {key: (matrix[0, 0], matrix.shape[1]) for key, matrix in found.items()} == expected
    assert list(found) == list(expected) and (f.calls, g.calls) == (1, 1)
    assert whole.widths(["mean"]) == {"0-INV.mean": 3, "1-LIN.mean": 5, "2-SEQ.mean": 4}
    assert whole.encode(SENTENCES).shape == (4, whole.dimension) == (4, 12)


def test_the_digest_tells_models_and_views_and_not_how_they_were_called() -> None:
    def digest(*parts: tuple[str, tuple[str, ...]]) -> str:
        return joined(*((Views(name, SEQ=4, LIN=4), views) for name, views in parts)).digest

    base = digest(("f", ("SEQ",)), ("g", ("LIN",)))
    assert digest(("f", ("0-SEQ",)), ("g", ("1-LIN",))) == base
    others = {
        digest(("f", ("LIN",)), ("g", ("LIN",))),
        digest(("g", ("SEQ",)), ("f", ("LIN",))),
        digest(("g", ("LIN",)), ("f", ("SEQ",))),
        digest(("f", ()), ("g", ("LIN",))),
    }
    assert len(others | {base}) == 5


@pytest.mark.parametrize(
    ("views", "message"),
    [
        ([("DEP",)], r"^no view 'DEP'; the encoder's are 0-SEQ, 1-SEQ, 2-INV$"),
        ([("SEQ",)], "^several views are called SEQ; give one of 0-SEQ, 1-SEQ$"),
        ([("INV", "2-INV")], r"^views \['INV', '2-INV'\] name 2-INV twice$"),
        ([("INV",), ("2-INV",)], "views 2-INV of one encoder are joined twice"),
    ],
)
def test_views_that_cannot_be_taken_are_named(views: list[tuple[str, ...]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        joined(*((Views("f", SEQ_1=4, SEQ_2=4, INV=4), part) for part in views))
