"""A trained bag of words as a folder of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import models
from models.config.training_presets import preset
from models.export import main
from models.words.vector_files import load_word_vectors
from tests.support.training_runs import make_data, run

CONFIG = preset("weighted-words", batch_size=32, epochs=2, held_out_fraction=0.2)
SENTENCES = ["the cat sees the dog", "the goat likes the mouse outside", "a bird"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export")
    run(make_data(folder), folder / "model", CONFIG)
    return folder


def exported(trained: Path, out: Path, *more: str) -> Path:
    assert main([str(trained / "model"), "--out", str(out), *more]) == 0
    return out


def cosines(vectors: np.ndarray) -> np.ndarray:
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit @ unit.T


def test_it_gives_the_trained_means_to_a_byte(trained: Path, tmp_path: Path) -> None:
    out = exported(trained, tmp_path / "out", "--components", "0")
    expected = models.load(trained / "model").encode_views(SENTENCES)["0-BOW.last"]
    found = models.load(out).encode(SENTENCES)
    assert found.shape == expected.shape
    assert np.abs(cosines(found) - cosines(expected)).max() < 1e-2


def test_it_is_loaded_where_nothing_else_is(trained: Path, tmp_path: Path) -> None:
    out = exported(trained, tmp_path / "out")
    expected = models.load(out).encode(SENTENCES)
    moved = shutil.move(out, tmp_path / "elsewhere")
    np.testing.assert_array_equal(models.load(moved).encode(SENTENCES), expected)


def test_a_component_of_the_corpus_is_gone(trained: Path, tmp_path: Path) -> None:
    kept = models.load(exported(trained, tmp_path / "kept", "--components", "0"))
    rid = models.load(exported(trained, tmp_path / "rid", "--components", "1"))
    lost = kept.encode(SENTENCES) - rid.encode(SENTENCES)
    assert np.linalg.matrix_rank(lost, tol=1e-5) == 1
    direction = lost[0] / np.linalg.norm(lost[0])
    np.testing.assert_allclose(rid.encode(SENTENCES) @ direction, 0, atol=1e-5)


def test_the_mean_of_its_words_is_rid_of_it_too(trained: Path, tmp_path: Path) -> None:
    encoder = models.load(exported(trained, tmp_path / "out"))
    views = encoder.encode_views(SENTENCES, ("last", "mean"))
    np.testing.assert_array_equal(views["0-BOW.last"], views["0-BOW.mean"])


def test_only_the_most_frequent_words_are_kept(trained: Path, tmp_path: Path) -> None:
    words = load_word_vectors(exported(trained, tmp_path / "out", "--words", "4") / "words")
    assert words.words[1:] == load_word_vectors(trained / "vectors").words[1:5]


def test_a_folder_that_holds_something_is_left_alone(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(trained / "model"), "--out", str(trained / "vectors")]) == 2
    assert "not empty; give a new folder" in capsys.readouterr().err


def test_a_model_without_words_alone_is_refused(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(make_data(tmp_path), tmp_path / "model", preset("laptop", hidden_size=4, epochs=1))
    assert main([str(tmp_path / "model"), "--out", str(tmp_path / "out")]) == 2
    assert "views DEP, CONST; only a view BOW is words alone" in capsys.readouterr().err
