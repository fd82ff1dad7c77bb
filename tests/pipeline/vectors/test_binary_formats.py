"""word2vec's own format, and those that other libraries convert."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from models.words.vector_files import load_word_vectors
from pipeline.vectors.folder import open_folder
from pipeline.vectors.import_vectors import ImportConfig, import_vectors
from pipeline.vectors.source_files import format_of

FLOAT32 = ImportConfig(kept_as="float32")
WORDS = ["the", "cat", "naïve", "New_York", "\u3042\u3044"]
ROWS = np.random.default_rng(1).normal(size=(5, 6)).astype(np.float32)


def word2vec_file(path: Path, *, newline: bytes = b"\n", header: bytes = b"5 6\n") -> Path:
    rows = [w.encode() + b" " + row.tobytes() + newline for w, row in zip(WORDS, ROWS, strict=True)]
    path.write_bytes(header + b"".join(rows))
    return path


@pytest.mark.parametrize("newline", [b"\n", b""])
def test_word2vecs_binary_format_is_read(newline: bytes, tmp_path: Path) -> None:
    path = word2vec_file(tmp_path / "v.bin", newline=newline)

    import_vectors(path, tmp_path / "out", FLOAT32)

    table = open_folder(tmp_path / "out")
    assert table.words.to_pylist() == WORDS
    np.testing.assert_array_equal(table.rows[1:], ROWS)


@pytest.mark.parametrize("cut", [1, 30, 100])
def test_a_binary_file_cut_short_is_refused_by_its_row(cut: int, tmp_path: Path) -> None:
    path = word2vec_file(tmp_path / "v.bin", newline=b"")
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(ValueError, match=r"v\.bin: row \d of 5 is not whole; it was cut short"):
        import_vectors(path, tmp_path / "out")


def test_rows_that_are_no_vectors_are_left_out_of_a_binary_file(tmp_path: Path) -> None:
    infinite = np.array([1, np.inf], np.float32).tobytes()
    good = np.array([1, 2], np.float32).tobytes()
    path = tmp_path / "v.bin"
    path.write_bytes(b"3 2\na " + infinite + b"\xff\xfe " + good + b"c " + good)

    facts = import_vectors(path, tmp_path / "out")

    assert facts["malformed"] == {"no_number": 1, "not_utf8": 1}
    assert open_folder(tmp_path / "out").words.to_pylist() == ["c"]


def test_formats_are_told_by_their_first_bytes(tmp_path: Path) -> None:
    text = tmp_path / "v.txt"
    text.write_text("1 2\nword 0.5 0.25\n")
    assert format_of(text) == "text"
    assert format_of(word2vec_file(tmp_path / "v.bin")) == "word2vec"


@pytest.mark.parametrize(
    ("content", "remedy"),
    [
        (
            (793_712_314).to_bytes(4, "little"),
            r"fastText's \.bin, .*give the \.vec .*load_facebook",
        ),
        (pickle.dumps([1]), r"gensim's own format, .*KeyedVectors\.load\(PATH\)\.save_word2vec"),
    ],
)
def test_what_is_not_read_is_refused_with_what_converts_it(
    content: bytes, remedy: str, tmp_path: Path
) -> None:
    (tmp_path / "v.bin").write_bytes(content)
    with pytest.raises(ValueError, match=rf"v\.bin: {remedy}"):
        import_vectors(tmp_path / "v.bin", tmp_path / "out")


def test_what_gensim_converts_is_what_gensim_has(tmp_path: Path) -> None:
    fasttext = pytest.importorskip("gensim.models.fasttext")
    model = fasttext.FastText(
        [["the", "naïve", "cat"], ["あいう", "dogs"]] * 9, vector_size=8, min_count=1, bucket=50
    )
    fasttext.save_facebook_model(model, str(tmp_path / "model.bin"))
    theirs = fasttext.load_facebook_vectors(str(tmp_path / "model.bin"))
    theirs.save_word2vec_format(str(tmp_path / "vectors.bin"), binary=True)

    import_vectors(tmp_path / "vectors.bin", tmp_path / "out", FLOAT32)

    table = open_folder(tmp_path / "out")
    for word, row in zip(table.words.to_pylist(), table.rows[1:], strict=True):
        np.testing.assert_allclose(row, theirs[word], atol=1e-6)


def test_a_run_names_the_command_that_makes_a_folder_of_them(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"word2vec's own format: .*treeviews vectors import"):
        load_word_vectors(word2vec_file(tmp_path / "v.bin"))
