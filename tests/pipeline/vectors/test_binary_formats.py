"""word2vec's, fastText's and gensim's own formats, against what gensim reads of them."""

from __future__ import annotations

import gzip
import pickle
import struct
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


def test_word2vecs_binary_format_is_read_packed(tmp_path: Path) -> None:
    plain = word2vec_file(tmp_path / "v.bin")
    (tmp_path / "v.bin.gz").write_bytes(gzip.compress(plain.read_bytes()))
    facts = import_vectors(tmp_path / "v.bin.gz", tmp_path / "out", FLOAT32)
    assert facts["words"] == 5


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


def fasttext_model(**settings: int):  # type: ignore[no-untyped-def]
    """Returns a small fastText model of gensim's, trained on a few words."""
    fasttext = pytest.importorskip("gensim.models.fasttext")
    sentences = [["the", "naïve", "cat", "was", "fed"], ["あいう", "a", "dogs", "</s>"]] * 20
    return fasttext.FastText(
        sentences, vector_size=8, min_count=1, epochs=1, workers=1, seed=0, bucket=50, **settings
    )


@pytest.mark.parametrize(("shortest", "longest"), [(3, 6), (1, 2), (2, 2)])
def test_fasttexts_words_are_means_with_their_ngrams_as_gensim_reads_them(
    shortest: int, longest: int, tmp_path: Path
) -> None:
    fasttext = pytest.importorskip("gensim.models.fasttext")
    model = fasttext_model(min_n=shortest, max_n=longest)
    path = tmp_path / "model.bin"
    fasttext.save_facebook_model(model, str(path))
    theirs = fasttext.load_facebook_vectors(str(path))

    import_vectors(path, tmp_path / "out", FLOAT32)

    ours = load_word_vectors(tmp_path / "out")
    assert set(ours.words[1:]) == set(theirs.index_to_key) and ours.num_words == 10
    for number, word in enumerate(ours.words[1:], 1):
        if word != "</s>":  # of which fastText makes no n-grams, and gensim does
            np.testing.assert_allclose(ours.matrix[number], theirs[word], atol=1e-6)
    assert ours.counts is not None
    counted = dict(zip(ours.words, ours.counts.tolist(), strict=True))
    assert counted["cat"] == 20


def fnv(text: bytes) -> int:
    """FNV-1a as fastText has it: each byte is extended with its sign."""
    found = 2166136261
    for byte in text:
        found = (
            (found ^ ((byte - 256 if byte > 127 else byte) & 0xFFFFFFFF)) * 16777619
        ) & 0xFFFFFFFF
    return found


def fasttext_file(path: Path, words: list[str], rows: np.ndarray, buckets: int, label: str) -> Path:
    """Writes a file by the published layout, with a label between the words."""
    head = struct.pack("<2i", 793712314, 12)
    head += struct.pack("<12id", rows.shape[1], 5, 5, 1, 5, 1, 2, 2, buckets, 2, 3, 100, 1e-4)
    head += struct.pack("<3i2q", len(words) + 1, len(words), 1, 99, -1)
    entries = [word.encode() + b"\0" + struct.pack("<qb", 7, 0) for word in words]
    entries.append(label.encode() + b"\0" + struct.pack("<qb", 3, 1))
    matrix = struct.pack("<b2q", 0, *rows.shape) + rows.astype("<f4").tobytes()
    path.write_bytes(head + b"".join(entries) + matrix + b"\0" + bytes(40))
    return path


def test_a_file_of_fasttexts_layout_is_averaged_as_its_source_says(tmp_path: Path) -> None:
    words, buckets = ["ab", "é", "</s>"], 5
    rows = np.random.default_rng(2).normal(size=(len(words) + buckets, 4)).astype(np.float32)
    path = fasttext_file(tmp_path / "m.bin", words, rows, buckets, "__label__x")

    import_vectors(path, tmp_path / "out", FLOAT32)

    table = open_folder(tmp_path / "out")
    assert table.words.to_pylist() == words
    for number, word in enumerate(words):
        padded = f"<{word}>"
        grams = [padded[i : i + n] for n in (2, 3) for i in range(len(padded) - n + 1)]
        used = [] if word == "</s>" else [3 + fnv(gram.encode()) % buckets for gram in grams]
        expected = rows[[number, *used]].mean(axis=0)
        np.testing.assert_allclose(table.rows[number + 1], expected, atol=1e-6)


def test_a_packed_fasttext_file_is_unpacked_beside_its_folder_and_removed(tmp_path: Path) -> None:
    rows = np.ones((3, 4), np.float32)
    plain = fasttext_file(tmp_path / "m.bin", ["ab"], rows, 2, "__label__x")
    (tmp_path / "m.bin.gz").write_bytes(gzip.compress(plain.read_bytes()))

    import_vectors(tmp_path / "m.bin.gz", tmp_path / "out", FLOAT32)

    assert open_folder(tmp_path / "out").rows.tolist() == [[0] * 4, [1] * 4]
    assert not list((tmp_path / "out").glob("unpacked-*"))


@pytest.mark.parametrize("cut", [20, 90, 130, 160])
def test_a_fasttext_file_cut_short_is_refused(cut: int, tmp_path: Path) -> None:
    path = fasttext_file(tmp_path / "m.bin", ["ab"], np.ones((3, 4), np.float32), 2, "__label__x")
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(ValueError, match=r"m\.bin: cut short at .*; fetch it again"):
        import_vectors(path, tmp_path / "out")


def test_a_quantised_fasttext_file_is_refused(tmp_path: Path) -> None:
    path = fasttext_file(tmp_path / "m.bin", ["ab"], np.ones((3, 4), np.float32), 2, "__label__x")
    content = bytearray(path.read_bytes())
    content[len(content) - 41 - 48 - 17] = 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"quantised \(\.ftz\), which is not read; give the \.bin"):
        import_vectors(path, tmp_path / "out")


@pytest.mark.parametrize("separately", [[], ["vectors"]])
def test_gensims_own_files_are_read_without_gensim_running(
    separately: list[str], tmp_path: Path
) -> None:
    models = pytest.importorskip("gensim.models")
    vectors = models.KeyedVectors(6)
    vectors.add_vectors(WORDS, ROWS)
    for count, word in enumerate(WORDS, 11):
        vectors.set_vecattr(word, "count", count)
    path = tmp_path / "saved.kv"
    vectors.save(str(path), separately=separately)
    assert (tmp_path / "saved.kv.vectors.npy").exists() == bool(separately)

    import_vectors(path, tmp_path / "out", FLOAT32)

    table = open_folder(tmp_path / "out")
    assert table.words.to_pylist() == WORDS
    np.testing.assert_array_equal(table.rows[1:], ROWS)
    assert table.counts is not None and table.counts.tolist() == [11, 12, 13, 14, 15]


@pytest.mark.parametrize("separately", [[], ["vectors_vocab", "vectors_ngrams"]])
@pytest.mark.parametrize(("shortest", "longest"), [(3, 6), (1, 2), (5, 4)])
def test_gensims_fasttext_vectors_are_those_that_gensim_gives(
    shortest: int, longest: int, separately: list[str], tmp_path: Path
) -> None:
    theirs = fasttext_model(min_n=shortest, max_n=longest).wv
    assert bool(theirs.bucket) == (shortest <= longest)
    theirs.save(str(tmp_path / "saved.kv"), separately=separately)

    import_vectors(tmp_path / "saved.kv", tmp_path / "out", FLOAT32)

    ours = load_word_vectors(tmp_path / "out")
    assert list(ours.words[1:]) == theirs.index_to_key
    for number, word in enumerate(ours.words[1:], 1):
        np.testing.assert_allclose(ours.matrix[number], theirs[word], rtol=1e-6, atol=1e-8)
    assert ours.counts is not None and ours.counts.sum() == 180


def test_gensims_fasttext_vectors_without_their_ngrams_are_refused(tmp_path: Path) -> None:
    theirs = fasttext_model(min_n=3, max_n=6).wv
    theirs.save(str(tmp_path / "saved.kv"), separately=["vectors_ngrams"])
    beside = tmp_path / "saved.kv.vectors_ngrams.npy"
    np.save(beside, np.load(beside)[:-1])
    with pytest.raises(ValueError, match=r"saved\.kv: 50 buckets for vectors_ngrams of shape \[49"):
        import_vectors(tmp_path / "saved.kv", tmp_path / "out")
    beside.unlink()
    with pytest.raises(ValueError, match=r"saved\.kv\.vectors_ngrams\.npy: not readable"):
        import_vectors(tmp_path / "saved.kv", tmp_path / "out")


@pytest.mark.parametrize("name", ["Word2Vec", "FastText", "Doc2Vec"])
def test_a_whole_model_of_gensim_is_refused_with_what_saves_its_vectors(
    name: str, tmp_path: Path
) -> None:
    models = pytest.importorskip("gensim.models")
    path = tmp_path / "saved.model"
    model = getattr(models, name)(
        vector_size=4, min_count=1, **{"bucket": 9} if name == "FastText" else {}
    )
    model.save(str(path))
    with pytest.raises(ValueError, match=rf"saved\.model: a whole {name} .*model\.wv\.save\("):
        import_vectors(path, tmp_path / "out")


def test_arrays_that_lay_beside_a_gensim_file_are_missed_by_name(tmp_path: Path) -> None:
    models = pytest.importorskip("gensim.models")
    vectors = models.KeyedVectors(6)
    vectors.add_vectors(WORDS, ROWS)
    vectors.save(str(tmp_path / "saved.kv"), separately=["vectors"])
    (tmp_path / "saved.kv.vectors.npy").unlink()
    with pytest.raises(ValueError, match=r"saved\.kv\.vectors\.npy: not readable"):
        import_vectors(tmp_path / "saved.kv", tmp_path / "out")


class _Program:
    """A pickle that writes a file where it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):  # type: ignore[no-untyped-def]
        return (Path.touch, (self.path,))


def test_a_pickle_that_is_a_program_does_not_run(tmp_path: Path) -> None:
    (tmp_path / "bad.kv").write_bytes(pickle.dumps(_Program(tmp_path / "made"), protocol=4))
    with pytest.raises(ValueError, match=r"bad\.kv: not readable as gensim's vectors \(.*names"):
        import_vectors(tmp_path / "bad.kv", tmp_path / "out")
    assert not (tmp_path / "made").exists()


def test_formats_are_told_by_their_first_bytes(tmp_path: Path) -> None:
    text = tmp_path / "v.txt"
    text.write_text("1 2\nword 0.5 0.25\n")
    made = {
        "text": text,
        "word2vec": word2vec_file(tmp_path / "v.bin"),
        "fasttext": fasttext_file(tmp_path / "m.bin", ["ab"], np.ones((3, 4), np.float32), 2, "l"),
    }
    assert {kind: format_of(path) for kind, path in made.items()} == {kind: kind for kind in made}


def test_a_run_names_the_command_that_makes_a_folder_of_them(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"word2vec's own format: .*treeviews vectors import"):
        load_word_vectors(word2vec_file(tmp_path / "v.bin"))
