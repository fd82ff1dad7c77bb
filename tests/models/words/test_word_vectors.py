"""Word vectors: lookup of a column of tokens, and the files they are read from."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pytest
from safetensors.numpy import save_file

from models.words.word_vectors import WordVectors, load_word_vectors, read_word_size
from pipeline.vectors.vector_folder import write_vectors


def vectors_of(*words: str) -> WordVectors:
    return WordVectors.from_rows(words, np.ones((len(words), 2), dtype=np.float32))


def text_file(folder: Path, text: str) -> Path:
    path = folder / "vectors.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_token_is_found_as_it_stands_then_lower_cased_else_unknown() -> None:
    ids, coverage = vectors_of("paris", "May", "may").token_ids(
        pa.array(["May", "MAY", "Paris", "naïve", "May"])
    )

    assert ids.tolist() == [2, 3, 1, 0, 2]
    assert (coverage.exact, coverage.lower_cased, coverage.unknown) == (2, 2, 1)
    assert coverage.known_share == pytest.approx(0.8)


def test_tokens_of_several_chunks_are_one_column() -> None:
    column = pa.chunked_array([["a", "b"], [], ["a"]], type=pa.string())

    ids, coverage = vectors_of("b", "a").token_ids(column)

    assert ids.tolist() == [2, 1, 2]
    assert coverage.tokens == 3


def test_no_tokens_are_no_ids() -> None:
    ids, coverage = vectors_of("a").token_ids(pa.array([], type=pa.string()))

    assert ids.tolist() == []
    assert coverage.known_share == 0.0


def test_id_0_is_the_unknown_word_and_zero() -> None:
    vectors = vectors_of("a")

    assert vectors.words == ("", "a")
    assert vectors.matrix.tolist() == [[0, 0], [1, 1]]


def test_the_checksum_follows_words_and_values() -> None:
    first = vectors_of("a", "b")
    other_value = WordVectors.from_rows(["a", "b"], np.full((2, 2), 2, dtype=np.float32))

    assert first.checksum == vectors_of("a", "b").checksum
    assert first.checksum != vectors_of("a", "c").checksum
    assert first.checksum != other_value.checksum


def test_the_rms_is_over_known_words_only() -> None:
    rows = np.array([[3.0, -3.0], [3.0, 3.0]], dtype=np.float32)

    assert WordVectors.from_rows(["a", "b"], rows).rms == pytest.approx(3.0)


def test_the_scale_to_a_target_reaches_it() -> None:
    vectors = WordVectors.from_rows(["a", "b"], np.array([[1, 2], [3, 5]], dtype=np.float32))
    scaled = WordVectors.from_rows(["a", "b"], vectors.matrix[1:] * vectors.scale_to(0.35))
    assert scaled.rms == pytest.approx(0.35)


def test_vectors_that_are_all_zero_cannot_be_scaled() -> None:
    with pytest.raises(ValueError, match="all zero cannot be scaled"):
        WordVectors.from_rows(["a"], np.zeros((1, 2), dtype=np.float32)).scale_to(0.35)


def test_glove_text_is_read(tmp_path: Path) -> None:
    vectors = load_word_vectors(text_file(tmp_path, "the 0.5 -1\n, 2e-1 3\n"))

    assert vectors.words == ("", "the", ",")
    np.testing.assert_allclose(vectors.matrix, [[0, 0], [0.5, -1], [0.2, 3]], rtol=1e-6)


def test_word2vec_text_with_header_and_trailing_spaces_is_read_from_gzip(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt.gz"
    path.write_bytes(gzip.compress(b"2 3\nin 1 2 3 \nfor 4 5 6 \n"))

    vectors = load_word_vectors(path)

    assert vectors.words == ("", "in", "for")
    assert vectors.matrix[1:].tolist() == [[1, 2, 3], [4, 5, 6]]


def test_a_word_may_hold_spaces(tmp_path: Path) -> None:
    vectors = load_word_vectors(text_file(tmp_path, "a 1 2\n. . . 3 4\n"))

    assert vectors.words[2] == ". . ."


def test_of_a_repeated_word_the_first_row_counts(tmp_path: Path) -> None:
    vectors = load_word_vectors(text_file(tmp_path, "a 1 2\nb 3 4\na 5 6\n"))

    assert vectors.words == ("", "a", "b")
    assert vectors.matrix[1].tolist() == [1, 2]
    assert vectors.num_duplicates == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a 1 2\nb 3\n", r"vectors\.txt:2: expected a word and 2 numbers, found 2 fields"),
        ("a 1 2\nb 3.5 4.5 5.5\n", r"vectors\.txt:2: expected a word and 2 numbers"),
        ("a 1 2\n\nb 3 4\n", r"vectors\.txt:2: expected a word and 2 numbers, found 0 fields"),
        ("a 1 2\nb 3 4\nc 5 x7\n", r"vectors\.txt:3: number 2 of 2 is not a finite number"),
        ("a 1 nan\n", r"vectors\.txt:1: number 2 of 2 is not a finite number"),
        ("3 2\na 1 2\nb 3 4\n", r"vectors\.txt:1: the header promises 3 words, the file holds 2"),
        ("2 2\n", r"vectors\.txt:1: the header promises 2 words, the file holds 0"),
        ("0 2\n", r"vectors\.txt:1: the header promises no words"),
        ("", r"vectors\.txt:1: expected a word and its numbers, found 0 fields"),
        ("a " + "1 " * 600_000, r"vectors\.txt:1: a line of more than 1,048,576 characters"),
    ],
)
def test_broken_text_is_refused_by_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_word_vectors(text_file(tmp_path, text))


@pytest.mark.parametrize("text", ["the 1 2 3\ncat 4 5 6\n", "2 3\nthe 1 2 3\ncat 4 5 6\n"])
def test_the_size_of_a_vector_is_read_from_the_first_line(tmp_path: Path, text: str) -> None:
    assert read_word_size(text_file(tmp_path, text)) == 3


def test_the_size_of_a_vector_is_read_from_a_folder(tmp_path: Path) -> None:
    save_file({"vectors": np.ones((2, 5), dtype=np.float16)}, tmp_path / "vectors.safetensors")
    assert read_word_size(tmp_path) == 5
    (tmp_path / "vectors.safetensors").write_bytes(b"no vectors")
    with pytest.raises(ValueError, match=r"vectors\.safetensors: broken word vectors"):
        read_word_size(tmp_path)


def test_binary_vectors_are_refused_with_a_remedy(tmp_path: Path) -> None:
    path = tmp_path / "vectors.bin"
    path.write_bytes(b"1 2\nword \xff\xfe\x00\x80\n")

    with pytest.raises(
        ValueError, match=r"not text but word2vec's own format: make a folder of it"
    ):
        load_word_vectors(path)


def test_a_gzip_file_cut_short_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt.gz"
    path.write_bytes(gzip.compress(b"a 1 2\n" * 1000)[:-12])

    with pytest.raises(ValueError, match=r"broken \.gz file .*; fetch it again"):
        load_word_vectors(path)


def test_absent_vectors_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="absent: no such word vectors"):
        load_word_vectors(tmp_path / "absent")


def test_a_folder_is_read(tmp_path: Path) -> None:
    save_file({"vectors": np.array([[0.5, 1]], dtype=np.float16)}, tmp_path / "vectors.safetensors")
    (tmp_path / "words.json").write_text(json.dumps(["naïve"]), encoding="utf-8")

    vectors = load_word_vectors(tmp_path)

    assert vectors.words == ("", "naïve")
    assert vectors.matrix.dtype == np.float32
    assert vectors.matrix[1].tolist() == [0.5, 1]


def test_a_folder_whose_words_and_vectors_differ_is_refused(tmp_path: Path) -> None:
    save_file({"vectors": np.zeros((3, 2), dtype=np.float16)}, tmp_path / "vectors.safetensors")
    (tmp_path / "words.json").write_text('["a"]', encoding="utf-8")

    with pytest.raises(ValueError, match=r"1 words but vectors of shape \[3, 2\]"):
        load_word_vectors(tmp_path)


@pytest.mark.parametrize(
    ("words", "number", "message"),
    [
        ('{"a": 1}', 0.0, r"words\.json: must hold a list of strings, got \{'a': 1\}; fetch or"),
        ('["a", 3]', 0.0, r"words\.json: entry 1 \(from 0\) must be a string, got 3; fetch or"),
        ('["a", "\\ud800"]', 0.0, r"words\.json: entry 1 .* must be a string"),
        ('["a", "b"]', np.nan, r"vectors\.safetensors: holds numbers that are not finite; fetch"),
    ],
)
def test_a_malformed_folder_is_refused(
    tmp_path: Path, words: str, number: float, message: str
) -> None:
    rows = np.full((2, 3), number, dtype=np.float16)
    save_file({"vectors": rows}, tmp_path / "vectors.safetensors")
    (tmp_path / "words.json").write_text(words, encoding="utf-8")

    with pytest.raises(ValueError, match=message):
        load_word_vectors(tmp_path)


def test_what_is_no_vectors_is_not_shown(tmp_path: Path) -> None:
    secret = tmp_path / "shadow"
    for content in ("root:secret\n", "root 1 secret\n", "a 1\nroot secret\n", "a 1\nsecret\n"):
        secret.write_text(content)
        with pytest.raises(ValueError, match=rf"{secret}:\d: ") as refused:
            load_word_vectors(secret)
        assert "secret" not in str(refused.value).replace(str(secret), "")


def test_a_folder_without_vectors_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="not a folder of word vectors"):
        load_word_vectors(tmp_path)


@pytest.mark.parametrize(
    "facts", ["[]", '{"file_sha256": 5}', '{"file_sha256": {"words.json": 5}}']
)
def test_facts_that_name_no_sha256_are_refused(tmp_path: Path, facts: str) -> None:
    write_vectors(tmp_path, ["rain", "sun"], np.ones((2, 3), np.float32), {})
    (tmp_path / "training.json").write_text(facts, encoding="utf-8")

    with pytest.raises(ValueError, match=r"training\.json: .* an object.*; fetch or train them"):
        load_word_vectors(tmp_path)


@pytest.mark.parametrize("name", ["vectors.safetensors", "words.parquet", "training.json"])
def test_vectors_of_which_a_bit_was_flipped_are_refused(tmp_path: Path, name: str) -> None:
    write_vectors(tmp_path, ["rain", "sun"], np.ones((2, 3), np.float32), {"words": 2})
    path = tmp_path / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)

    with pytest.raises(ValueError, match=rf"{name}: .*; fetch or train them again"):
        load_word_vectors(tmp_path)


@pytest.mark.parametrize("kept_as", ["float16", "float32", "bytes"])
def test_what_is_written_is_read_with_its_counts(
    tmp_path: Path, kept_as: Literal["float16", "float32", "bytes"]
) -> None:
    rows = np.random.default_rng(0).normal(size=(3, 50)).astype(np.float32)
    counts = np.array([5, 2, 1])
    write_vectors(tmp_path, ["a", "b", "c"], rows, {}, counts=counts, kept_as=kept_as)
    vectors = load_word_vectors(tmp_path)
    assert vectors.words[1:] == ("a", "b", "c")
    assert vectors.counts is not None and vectors.counts.tolist() == [0, 5, 2, 1]
    largest = np.abs(rows).max(axis=1, keepdims=True)
    assert (np.abs(vectors.matrix[1:] - rows) <= largest / 250).all()
    first = vectors.first(2).counts
    assert first is not None and first.tolist() == [0, 5, 2]


def test_vectors_with_other_counts_are_others() -> None:
    rows = np.eye(2, dtype=np.float32)
    sums = {
        WordVectors.from_rows(["a", "b"], rows, counts=counts).checksum
        for counts in (None, np.array([2, 1]), np.array([3, 1]))
    }
    assert len(sums) == 3


@pytest.mark.parametrize("counts", [[1], [1, -1]])
def test_counts_that_are_not_those_of_the_words_are_refused(
    tmp_path: Path, counts: list[int]
) -> None:
    tensors = {"vectors": np.eye(2, dtype=np.float32), "counts": np.array(counts)}
    save_file(tensors, tmp_path / "vectors.safetensors")
    (tmp_path / "words.json").write_text('["a", "b"]')
    with pytest.raises(ValueError, match="counts must be 2 numbers from 0 on; fetch or train"):
        load_word_vectors(tmp_path)
