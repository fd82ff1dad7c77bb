"""What every encoder takes and gives: one string or many, options, threads, processes."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import models
from models.encoding import processes
from models.encoding.string_encoder import StringEncoder
from tests.support.repository import REPOSITORY

SENTENCES = ["The cat sees the dog.", "It rains.", "Birds sing, don't they?", "Why?"]
NAMES = ["english", "bag_of_words", "sif", "english@BOW+english-trees@DEP", "own_lengths:encode"]

OWN = """
import numpy as np

def encode(sentences):
    return np.array([[len(one), one.count(" "), 1.0] for one in sentences])

def picky(sentences):
    if "BOOM" in sentences:
        raise ValueError("boom")
    return encode(sentences)

def slow(sentences):
    raise RuntimeError("no weights today")
"""


@pytest.fixture(autouse=True)
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_lengths.py").write_text(OWN, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.fixture(params=NAMES)
def encoder(request: pytest.FixtureRequest) -> StringEncoder:
    return models.load(request.param, on_refusal="zero")


@pytest.fixture
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


def test_tensors_hold_the_same_numbers(encoder: StringEncoder) -> None:
    found = encoder.encode(SENTENCES, convert_to="torch")
    assert isinstance(found, torch.Tensor)
    np.testing.assert_array_equal(found.numpy(), encoder.encode(SENTENCES))
    assert encoder.encode("It rains.", convert_to="torch").ndim == 1


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
        ({"convert_to": "jax"}, "convert_to must be one of numpy, torch, got 'jax'"),
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
        ({"processes": 0}, "processes must be at least 1, got 0"),
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


@pytest.mark.slow
def test_processes_give_the_same_vectors(
    encoder: StringEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "SENTENCES_AT_ONCE", 2)
    found = encoder.encode(SENTENCES, processes=2)
    np.testing.assert_allclose(found, encoder.encode(SENTENCES), atol=1e-5)


@pytest.mark.slow
def test_processes_tell_which_sentences_became_zeros(
    english: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "SENTENCES_AT_ONCE", 2)
    sentences = [*SENTENCES, "", "\ud800 half a character", " "]
    found = english.encode(sentences, processes=3)
    assert [(one.index, one.reason) for one in english.refused] == [(4, "empty"), (6, "empty")]
    assert found.any(axis=1).tolist() == [True, True, True, True, False, True, False]


@pytest.mark.slow
def test_bits_are_those_of_one_process() -> None:
    encoder = models.load("english-trees")
    # More than what is read at once, so that two processes have something each.
    sentences = [f"{one} {number}" for number in range(600) for one in SENTENCES]
    found = encoder.encode(sentences, processes=2)
    np.testing.assert_array_equal(found, encoder.encode(sentences))


def test_what_a_process_could_not_take_is_an_error_if_it_is_asked_to_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processes, "SENTENCES_AT_ONCE", 2)
    strict = models.load("english")
    with pytest.raises(ValueError, match=r"sentence 3 \(from 0\): empty"):
        strict.encode(["a", "b", "c", " "], processes=2)


def test_an_encoder_made_in_code_has_no_name_for_other_processes(english: Any) -> None:
    english.origin = None
    with pytest.raises(ValueError, match="several processes need an encoder that they can load"):
        english.encode(SENTENCES, processes=2)


def test_what_fails_in_a_process_is_told() -> None:
    with pytest.raises(RuntimeError, match="raised RuntimeError: no weights today"):
        models.load("own_lengths:slow").encode(SENTENCES, processes=2)


def test_a_process_names_sentences_as_one_would_and_leaves_its_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processes, "SENTENCES_AT_ONCE", 2)
    encoder = models.load("own_lengths:picky")
    with pytest.raises(RuntimeError, match=r"for sentences 2 to 3 \(from 0\)") as raised:
        encoder.encode(["a", "b", "c", "BOOM"], processes=2, batch_size=2)
    assert "[traceback" not in str(raised.value)
    assert "own_lengths.py" in "".join(raised.value.__notes__)


@pytest.mark.slow
def test_a_script_needs_no_guard(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import models\n"
        "found = models.load('english').encode(['It rains.'] * 2100, processes=2)\n"
        "print(found.shape)\n",
        encoding="utf-8",
    )
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout == "(2100, 300)\n"
