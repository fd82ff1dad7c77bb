"""Word vectors: lookup of a column of tokens, the files they are read from, weights of words."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from safetensors.numpy import save_file

from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.words.word_embedding import WordEmbedding, word_embedding
from treeviews.models.words.word_vectors import (
    WordVectors,
    load_word_vectors,
    read_word_size,
    sif_weights,
    word_probabilities,
)

ROWS = np.array([[3.0, 4.0], [0.0, 2.0], [1.0, 0.0]], dtype=np.float32)
COUNTS = np.array([90, 9, 1])
IDS = torch.tensor([0, 1, 2, 3])


def vectors_of(*words: str) -> WordVectors:
    return WordVectors.from_rows(words, np.ones((len(words), 2), dtype=np.float32))


def owls(*, counted: bool = True) -> WordVectors:
    return WordVectors.from_rows(("the", "owl", "sang"), ROWS, counts=COUNTS if counted else None)


def text_file(folder: Path, text: str | bytes) -> Path:
    path = folder / "vectors.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_tokens_are_looked_up_as_they_stand_then_lower_cased() -> None:
    column = pa.chunked_array([["Paris", "The", "the"], [], ["snow", "Paris"]], type=pa.string())
    ids, coverage = vectors_of("the", "Paris", "paris").token_ids(column)
    assert ids.tolist() == [2, 1, 1, 0, 2]
    assert (coverage.exact, coverage.lower_cased, coverage.unknown) == (3, 1, 1)
    assert coverage.known_share == pytest.approx(0.8)

    ids, coverage = vectors_of("a").token_ids(pa.array([], type=pa.string()))
    assert ids.tolist() == [] and coverage.known_share == 0.0


def test_id_0_is_the_unknown_word_and_zero_and_counts_for_nothing() -> None:
    vectors = owls()
    assert vectors.words == ("", "the", "owl", "sang")
    assert vectors.matrix[0].tolist() == [0, 0]
    assert vectors.rms == pytest.approx(np.sqrt(np.square(ROWS).mean()))
    scaled = WordVectors.from_rows(vectors.words[1:], ROWS * vectors.scale_to(0.35))
    assert scaled.rms == pytest.approx(0.35)
    with pytest.raises(ValueError, match="all zero cannot be scaled"):
        WordVectors.from_rows(["a"], np.zeros((1, 2), dtype=np.float32)).scale_to(0.35)


def test_the_checksum_follows_words_values_and_counts() -> None:
    made = [
        *(vectors_of("a", "b"), vectors_of("a", "c")),
        WordVectors.from_rows(["a", "b"], np.full((2, 2), 2, dtype=np.float32)),
        WordVectors.from_rows(["a", "b"], np.ones((2, 2), np.float32), counts=np.array([2, 1])),
    ]
    assert len({vectors.checksum for vectors in made}) == len(made)
    assert made[0].checksum == vectors_of("a", "b").checksum


@pytest.mark.parametrize(
    ("text", "words", "rows"),
    [
        ("the 0.5 -1\n, 2e-1 3\n", ("the", ","), [[0.5, -1], [0.2, 3]]),
        ("2 2\nin 1 2 \nfor 4 5 \n", ("in", "for"), [[1, 2], [4, 5]]),
        ("a 1 2\n. . . 3 4\n", ("a", ". . ."), [[1, 2], [3, 4]]),
        ("a 1 2\nb 3 4\na 5 6\n", ("a", "b"), [[1, 2], [3, 4]]),
    ],
)
def test_text_is_read_plain_and_packed(
    text: str, words: tuple[str, ...], rows: list[list[float]], tmp_path: Path
) -> None:
    packed = tmp_path / "vectors.txt.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    for path in (text_file(tmp_path, text), packed):
        vectors = load_word_vectors(path)
        assert vectors.words[1:] == words and read_word_size(path) == 2
        np.testing.assert_array_equal(vectors.matrix[1:], np.float32(rows))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a 1 2\nb 3\n", r"vectors\.txt:2: expected a word and 2 numbers, found 2 fields"),
        ("a 1 2\nb 3.5 4.5 5.5\n", r"vectors\.txt:2: expected a word and 2 numbers"),
        ("a 1 2\n\nb 3 4\n", r"vectors\.txt:2: expected a word and 2 numbers, found 0 fields"),
        ("a 1 2\nb 3 4\nc 5 x7\n", r"vectors\.txt:3: number 2 of 2 is not a finite number"),
        ("3 2\na 1 2\nb 3 4\n", r"vectors\.txt:1: the header promises 3 words, the file holds 2"),
        ("0 2\n", r"vectors\.txt:1: the header promises 0 words"),
        ("", r"vectors\.txt:1: expected a word and its numbers, found 0 fields"),
        ("a " + "1 " * 600_000, r"vectors\.txt:1: a line of more than 1,048,576 characters"),
        (b"1 2\nword \xff\xfe\x00\x80\n", "not text but word2vec's own format: make a folder"),
        *((text, r"vectors\.txt:\d: ") for text in ("x:secret\n", "x 1 secret\n", "a 1\nsecret\n")),
    ],
)
def test_broken_text_is_refused_by_file_and_line_and_not_shown(
    tmp_path: Path, text: str | bytes, message: str
) -> None:
    with pytest.raises(ValueError, match=message) as refused:
        load_word_vectors(text_file(tmp_path, text))
    assert "secret" not in str(refused.value)


HALVES = np.zeros((2, 3), dtype=np.float16)


@pytest.mark.parametrize(
    ("words", "tensors", "message"),
    [
        ('["a"]', {"vectors": HALVES}, r"1 words but vectors of shape \[2, 3\]"),
        ('{"a": 1}', {"vectors": HALVES}, r"words\.json: must hold a list of strings"),
        ('["a", 3]', {"vectors": HALVES}, r"words\.json: must hold a list of strings, got 3"),
        ('["a", "b"]', {"vectors": HALVES + np.float16("nan")}, "numbers that are not finite"),
        ('["a", "b"]', {"other": HALVES}, "broken word vectors"),
        ('["a", "b"]', {"vectors": HALVES, "counts": np.array([1])}, "counts must be 2 numbers"),
        ('["a", "b"]', {"vectors": HALVES, "counts": np.array([1, -1])}, "counts must be 2"),
        ('["a", "b"]', {"vectors": HALVES, "unknown": HALVES[:1] + 1}, "row is not zero"),
        ('["a", "b"]', {"vectors": HALVES, "unknown": HALVES}, "rows lie apart"),
    ],
)
def test_a_malformed_folder_is_refused(
    tmp_path: Path, words: str, tensors: dict[str, Any], message: str
) -> None:
    save_file(tensors, tmp_path / "vectors.safetensors")
    (tmp_path / "words.json").write_text(words, encoding="utf-8")
    with pytest.raises(ValueError, match=rf"{message}.*; fetch or train them again"):
        load_word_vectors(tmp_path)


def test_a_folder_of_an_earlier_release_is_read_into_memory(tmp_path: Path) -> None:
    save_file({"vectors": np.array([[0.5, 1]], dtype=np.float16)}, tmp_path / "vectors.safetensors")
    (tmp_path / "words.json").write_text('["naïve"]', encoding="utf-8")
    vectors = load_word_vectors(tmp_path)
    assert vectors.words == ("", "naïve") and vectors.matrix.dtype == np.float32
    assert vectors.matrix[1].tolist() == [0.5, 1] and read_word_size(tmp_path) == 2


def test_probabilities_are_those_of_counts_or_of_zipfs_law() -> None:
    np.testing.assert_allclose(word_probabilities(owls()), [0, 0.9, 0.09, 0.01])
    by_rank = word_probabilities(owls(counted=False))
    assert by_rank[0] == 0 and by_rank.sum() == pytest.approx(1)
    np.testing.assert_allclose(by_rank[1] / by_rank[2:], [4.7 / 3.7, 5.7 / 3.7])
    weights = sif_weights(owls(), 0.09)  # a half where the probability is a
    np.testing.assert_allclose(weights, [1, 0.09 / 0.99, 0.5, 0.9], rtol=1e-6)
    with pytest.raises(ValueError, match="counts of the word vectors are all zero"):
        word_probabilities(WordVectors.from_rows(["a"], ROWS[:1], counts=np.array([0])))


def lookup(**changes: object) -> WordEmbedding:
    fixed = {"views": ("BOW",), "objective": "discriminative", "vector_rms": None}
    return word_embedding(TrainingConfig.from_dict({**fixed, **changes}), owls())


@pytest.mark.parametrize("words", ["frozen", "trained"])
def test_weights_multiply_the_vectors_of_their_words(words: str) -> None:
    given = {"word_vectors": words, "trained_word_init": "given", "word_weights": "sif"}
    weighted = lookup(**given, sif_a=0.09)(IDS)
    expected = torch.tensor([[0, 0], [3 / 11, 4 / 11], [0, 1], [0.9, 0]])
    torch.testing.assert_close(weighted, expected)
    of_length_1 = lookup(**given, sif_a=0.09, unit_words=True)(IDS)
    torch.testing.assert_close(of_length_1.norm(dim=1), torch.tensor([0, 1 / 11, 0.5, 0.9]))


def test_words_are_scaled_and_saved_only_where_they_are_trained() -> None:
    scaled = lookup(unit_words=True, vector_rms=0.5)(IDS[1:])
    assert scaled.square().mean().sqrt().item() == pytest.approx(0.5)
    assert set(lookup(word_weights="sif").state_dict()) == {"scale"}
    trained = lookup(word_vectors="trained", trained_word_init="given")
    assert torch.equal(trained(IDS)[1:], torch.from_numpy(ROWS))
    assert isinstance(trained.vectors, torch.nn.Parameter)
