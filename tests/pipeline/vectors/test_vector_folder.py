"""A folder of word vectors: mapped rows, damage, words found by hashes, lists of words."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from treeviews.models.words.word_vectors import load_word_vectors
from treeviews.pipeline.shards.arrow import strings
from treeviews.pipeline.vectors.vector_folder import open_folder, read_width, write_vectors
from treeviews.pipeline.vectors.word_lists import (
    NOWHERE,
    WordIndex,
    WordList,
    read_word_list,
    write_word_list,
)

WORDS = ["the", "cat", "naïve"]
ROWS = np.array([[0.5, -1], [2, 3], [0.25, 8]], dtype=np.float32)
COUNTS = np.array([3, 2, 1])


def written(folder: Path, **settings: Any) -> Path:
    write_vectors(folder, WORDS, ROWS, {"made": "here"}, **{"counts": COUNTS, **settings})
    return folder


@pytest.mark.parametrize("kept_as", ["float16", "float32"])
def test_rows_are_those_of_the_file_behind_a_zero_row(kept_as: str, tmp_path: Path) -> None:
    table = open_folder(written(tmp_path, kept_as=kept_as))
    assert table.mapped is not None and table.rows.dtype == kept_as
    assert table.rows.tolist() == [[0, 0], *ROWS.tolist()]
    assert read_width(tmp_path) == 2
    tensors = load_file(tmp_path / "vectors.safetensors")
    assert [tensors[name].tolist() for name in ("unknown", "vectors")] == [[[0, 0]], ROWS.tolist()]


@pytest.mark.parametrize("kept_as", ["float16", "float32", "bytes"])
def test_what_is_written_is_read_wherever_it_comes_from(kept_as: str, tmp_path: Path) -> None:
    vectors = load_word_vectors(written(tmp_path, kept_as=kept_as))
    again = type(vectors).from_rows(WORDS, vectors.rows(np.arange(1, 4)), counts=COUNTS)
    assert vectors.words[1:] == tuple(WORDS)
    assert (np.abs(vectors.matrix[1:] - ROWS) <= np.abs(ROWS).max(1, keepdims=True) / 250).all()
    assert vectors.counts is not None and vectors.counts.tolist() == [0, *COUNTS]
    assert vectors.checksum == again.checksum
    assert vectors.rms == pytest.approx(again.rms)
    np.testing.assert_array_equal(vectors.lengths, again.lengths)


def test_factors_are_in_whatever_is_made_of_a_mapped_table(tmp_path: Path) -> None:
    factors = [np.asarray(2.5, "f4"), np.array([[1], [2], [3], [4]], dtype=np.float32)]
    mapped = load_word_vectors(written(tmp_path, kept_as="float32"))
    in_memory = type(mapped).from_rows(WORDS, mapped.matrix[1:], counts=COUNTS)

    found, expected = mapped.times(factors), in_memory.times(factors)

    assert found.is_mapped and not expected.is_mapped
    ids, few = np.arange(4), np.arange(3)
    np.testing.assert_array_equal(found.first(2).rows(few), expected.first(2).rows(few))
    for half, expected_half in zip(found.halves(), expected.halves(), strict=True):
        np.testing.assert_array_equal(half.rows(ids), expected_half.rows(ids))
    np.testing.assert_array_equal(np.concatenate([*found.blocks()]), expected.rows(ids))
    np.testing.assert_array_equal(found.lengths, expected.lengths)
    assert found.rms == pytest.approx(expected.rms) and found.rms != pytest.approx(mapped.rms)
    assert found.checksum == expected.checksum != mapped.checksum


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1 if path.suffix == ".safetensors" else len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("name", ["vectors.safetensors", "words.parquet", "training.json"])
def test_a_flipped_bit_is_refused(tmp_path: Path, name: str) -> None:
    flip(written(tmp_path) / name)
    with pytest.raises(ValueError, match=rf"{name}: .*; fetch or train them again"):
        open_folder(tmp_path)


def test_a_word_is_found_by_its_spelling_as_a_dictionary_finds_it() -> None:
    draw = random.Random(0)
    words = ["".join(draw.choices("abcé𝔘 ", k=draw.randrange(0, 6))) for _ in range(4_000)]
    wanted = [*words[::7], "zzz", "", "é" * 9, *words[5:50:3]]
    first = {word: place for place, word in reversed(list(enumerate(words)))}
    index = WordIndex(strings(words))
    assert index.places(strings(wanted)).tolist() == [first.get(word, NOWHERE) for word in wanted]
    assert index.distinct_places().tolist() == sorted(first.values())


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("v.parquet", b"no parquet", "not readable as Parquet"),
        ("v.json", b'{"a": 1}', "must hold a list of strings"),
        ("v.json", b'"abc"', "must hold a list of strings, got 'abc'"),
        ("v.txt", b"a\n\xff\n", "not UTF-8 text"),
    ],
)
def test_a_list_of_words_comes_back_and_another_file_is_named(
    name: str, content: bytes, message: str, tmp_path: Path
) -> None:
    for counts in (None, np.array([2, 1])):
        write_word_list(tmp_path / "w.parquet", WordList(strings(["é", "a b"]), counts))
        back = read_word_list(tmp_path / "w.parquet", remedy="")
        assert back.words.to_pylist() == ["é", "a b"]
        assert (back.counts is None) == (counts is None)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=rf"{name}: {message}"):
        read_word_list(tmp_path / name, remedy="give another")
