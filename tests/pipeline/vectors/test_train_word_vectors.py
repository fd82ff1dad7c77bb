"""Training word vectors: the same text and seed give the same file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from models.words.vector_files import load_word_vectors
from pipeline.vectors.train_word_vectors import SkipGramConfig, main
from tests.support.repository import REPOSITORY

pytest.importorskip("gensim")


def text(folder: Path) -> Path:
    folder.mkdir()
    lines = ["The cat sees a dog.", "", "The dog doesn't see the cat; the bird sees both."] * 40
    (folder / "b.txt").write_text("\n".join(lines), encoding="utf-8")
    (folder / "a.txt").write_text("A bird sees the cat.\n" * 20, encoding="utf-8")
    return folder


def train(folder: Path, out: Path) -> None:
    sizes = ["--size", "6", "--epochs", "1", "--max-words", "100"]
    main(["--text", str(folder), "--out", str(out), *sizes])


def test_a_text_gives_scaled_vectors_of_its_words_each_time_the_same(tmp_path: Path) -> None:
    folder = text(tmp_path / "text")

    train(folder, tmp_path / "first")
    train(folder, tmp_path / "second")

    vectors = load_word_vectors(tmp_path / "first")
    assert {"The", "the", "does", "n't", ";", "bird"} <= set(vectors.words)
    assert vectors.size == 6
    assert vectors.rms == pytest.approx(SkipGramConfig().rms, rel=1e-3)
    assert vectors.checksum == load_word_vectors(tmp_path / "second").checksum
    facts = json.loads((tmp_path / "first" / "training.json").read_text(encoding="utf-8"))
    assert facts["text"]["num_files"] == 2
    assert facts["words"] == len(vectors.words) - 1


def test_a_path_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"error: .*absent"):
        main(["--text", str(tmp_path / "absent"), "--out", str(tmp_path / "out")])


def test_text_that_cannot_be_read_is_refused_and_too_little_text_too(tmp_path: Path) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes(b"caf\xe9\n")
    with pytest.raises(SystemExit, match=r"error: .*latin\.txt: no text to train on"):
        main(["--text", str(path), "--out", str(tmp_path / "out")])

    path.write_text("One sentence only.", encoding="utf-8")
    with pytest.raises(SystemExit, match="error: no word occurs 5 times"):
        main(["--text", str(path), "--out", str(tmp_path / "out")])


def test_the_bundled_vectors_are_what_their_card_says() -> None:
    folder = REPOSITORY / "data" / "vectors" / "english"
    vectors = load_word_vectors(folder)

    assert vectors.matrix.shape == (29_931, 100)
    assert vectors.rms == pytest.approx(0.35, abs=1e-3)
    facts = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    card = (folder / "card.md").read_text(encoding="utf-8")
    assert facts["file_sha256"]["vectors.safetensors"] in card
    assert sum(path.stat().st_size for path in folder.iterdir()) < 6.5e6
