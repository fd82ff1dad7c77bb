"""A folder of word vectors: mapped rows, damage, words found by hashes."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from models.words.word_vectors import load_word_vectors
from pipeline.shards.arrow import strings
from pipeline.vectors import vector_folder as folder_module
from pipeline.vectors import word_lists as word_index
from pipeline.vectors.vector_folder import open_folder, read_width, write_vectors
from pipeline.vectors.word_lists import NOWHERE, WordIndex, read_word_list

WORDS = ["the", "cat", "naïve"]
ROWS = np.array([[0.5, -1], [2, 3], [0.25, 8]], dtype=np.float32)


def written(folder: Path, **settings: object) -> Path:
    write_vectors(folder, WORDS, ROWS, {}, **settings)  # type: ignore[arg-type]
    return folder


@pytest.mark.parametrize("kept_as", ["float16", "float32"])
def test_rows_are_those_of_the_file_behind_a_zero_row(kept_as: str, tmp_path: Path) -> None:
    table = open_folder(written(tmp_path, kept_as=kept_as))

    assert table.mapped is not None and table.rows.dtype == kept_as
    assert table.rows.tolist() == [[0, 0], *ROWS.tolist()]
    assert read_width(tmp_path) == 2


def test_safetensors_reads_the_same_file(tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    tensors = load_file(written(tmp_path, kept_as="float32") / "vectors.safetensors")
    assert tensors["vectors"].tolist() == ROWS.tolist()
    assert tensors["unknown"].tolist() == [[0, 0]]


@pytest.mark.parametrize("kept_as", ["float16", "float32", "bytes"])
def test_checksum_and_rms_are_the_same_wherever_they_come_from(
    kept_as: str, tmp_path: Path
) -> None:
    vectors = load_word_vectors(written(tmp_path, kept_as=kept_as, counts=np.array([3, 2, 1])))
    again = type(vectors).from_rows(
        WORDS, vectors.rows(np.arange(1, 4)), counts=np.array([3, 2, 1])
    )
    assert vectors.checksum == again.checksum
    assert vectors.rms == pytest.approx(again.rms)
    np.testing.assert_array_equal(vectors.lengths, again.lengths)


def test_factors_are_in_whatever_is_made_of_a_mapped_table(tmp_path: Path) -> None:
    factors = [np.asarray(2.5, "f4"), np.array([[1], [2], [3], [4]], dtype=np.float32)]
    path = written(tmp_path, kept_as="float32", counts=np.array([3, 2, 1]))
    mapped = load_word_vectors(path)
    in_memory = type(mapped).from_rows(WORDS, mapped.matrix[1:], counts=np.array([3, 2, 1]))

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
    np.testing.assert_array_equal(
        found.first(2).times(factors[:1]).rows(few), 2.5 * expected.first(2).rows(few)
    )


def test_a_large_table_is_read_whole_only_where_that_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_module, "READ_AT_ONCE_BYTES", 4)
    path = written(tmp_path) / "vectors.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)

    assert len(open_folder(tmp_path).words) == 3
    with pytest.raises(ValueError, match=r"vectors\.safetensors: damaged or of another run"):
        open_folder(tmp_path, whole=True)
    path.write_bytes(content + bytes(4))
    with pytest.raises(ValueError, match=r"vectors\.safetensors: not of the size noted"):
        open_folder(tmp_path)


def test_a_word_is_found_by_its_spelling_as_a_dictionary_finds_it() -> None:
    draw = random.Random(0)
    words = ["".join(draw.choices("abcé𝔘 ", k=draw.randrange(0, 6))) for _ in range(4_000)]
    wanted = [*words[::7], "zzz", "", "é" * 9, *words[5:50:3]]
    first = {word: place for place, word in reversed(list(enumerate(words)))}

    found = WordIndex(strings(words)).places(strings(wanted))

    assert found.tolist() == [first.get(word, NOWHERE) for word in wanted]


def test_words_of_one_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        word_index, "hashes_of", lambda words: np.full(len(words), 5, dtype=np.uint64)
    )
    index = WordIndex(strings(["a", "b", "a", "c"]))
    assert index.places(strings(["c", "a", "x", "b"])).tolist() == [3, 0, NOWHERE, 1]
    assert index.first_places().tolist() == [0, 1, 0, 3]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("v.parquet", b"no parquet", "not readable as Parquet"),
        ("v.json", b'{"a": 1}', "must hold a list of strings"),
        ("v.txt", b"a\n\xff\n", "not UTF-8 text"),
    ],
)
def test_a_list_of_words_that_is_none_is_named(
    name: str, content: bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=rf"{name}: {message}"):
        read_word_list(tmp_path / name, remedy="give another")
