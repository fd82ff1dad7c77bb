"""What every encoder takes and gives: one string or many, options, threads."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import models
from models.encoding.string_encoder import StringEncoder

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
def encoder(request: pytest.FixtureRequest) -> StringEncoder:
    return models.load(request.param, on_refusal="zero")


@pytest.fixture(scope="module")
def english() -> Any:
    return models.load("english", on_refusal="zero")


def test_one_string_gives_one_vector_and_a_list_a_row_each_in_order(encoder: StringEncoder) -> None:
    matrix = encoder.encode(SENTENCES)
    assert (matrix.dtype, matrix.shape[0]) == (np.float32, len(SENTENCES))
    for row, sentence in zip(matrix, SENTENCES, strict=True):
        np.testing.assert_allclose(encoder.encode(sentence), row, atol=1e-5)
    np.testing.assert_allclose(encoder.encode(SENTENCES[::-1]), matrix[::-1], atol=1e-5)


def test_embeddings_may_have_length_1(encoder: StringEncoder) -> None:
    found = encoder.encode(SENTENCES, normalize=True)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    plain = encoder.encode(SENTENCES)
    lengths = np.linalg.norm(plain, axis=1, keepdims=True)
    np.testing.assert_allclose(found, plain / lengths, atol=1e-5)


def test_one_pooling_may_be_named_by_itself(english: Any) -> None:
    found = english.encode(SENTENCES, pooling="mean")
    np.testing.assert_array_equal(found, english.encode(SENTENCES, pooling=("mean",)))
    with pytest.raises(ValueError, match=r"one or several of .*, got \['meen'\]"):
        english.encode(SENTENCES, pooling="meen")


def test_zeros_stay_zeros(english: Any) -> None:
    found = english.encode(["", "It rains."], normalize=True)
    assert not found[0].any()
    assert found[1].any()


def test_the_size_of_batches_changes_only_rounding(encoder: StringEncoder) -> None:
    found = encoder.encode(SENTENCES, batch_size=1)
    np.testing.assert_allclose(found, encoder.encode(SENTENCES), atol=1e-5)


def test_a_bar_goes_to_standard_error(
    encoder: StringEncoder, capsys: pytest.CaptureFixture[str]
) -> None:
    encoder.encode(SENTENCES, show_progress=True)
    told = capsys.readouterr()
    assert "4/4" in told.err
    assert told.out == ""
    encoder.encode(SENTENCES)
    assert capsys.readouterr().err == ""


def test_embeddings_are_compared(encoder: StringEncoder) -> None:
    found = encoder.encode(SENTENCES)
    cosines = encoder.similarity(found)
    np.testing.assert_allclose(np.diag(cosines), 1, atol=1e-5)
    pairwise = encoder.similarity_pairwise(found[:2], found[2:])
    np.testing.assert_allclose(pairwise, [cosines[0, 2], cosines[1, 3]], atol=1e-5)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
        ({"pooling": ["sum"]}, "pooling must name one or several of last"),
    ],
)
def test_what_cannot_be_given_is_named(english: Any, options: Any, said: str) -> None:
    with pytest.raises(ValueError) as raised:
        english.encode(SENTENCES, **options)
    assert said in str(raised.value)


def test_a_function_of_ones_own_pools_nothing() -> None:
    own = models.load("own_lengths:encode")
    with pytest.raises(ValueError, match="own_lengths:encode: gives no states to pool"):
        own.encode(SENTENCES, pooling=["mean"])


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
