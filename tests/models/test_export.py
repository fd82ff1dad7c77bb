"""A trained bag of words as a folder of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import models
from models.config.training_presets import preset
from models.words.word_vectors import load_word_vectors
from pipeline.base.bundled import BUNDLED_VECTORS
from tests.support.command import subcommand
from tests.support.edited_json import edit as edit_json
from tests.support.training_runs import make_data, run

main = subcommand("models", "export")

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


def test_a_component_of_the_corpus_is_gone(trained: Path, tmp_path: Path) -> None:
    kept = models.load(exported(trained, tmp_path / "kept", "--components", "0"))
    rid = models.load(exported(trained, tmp_path / "rid", "--components", "1"))
    lost = kept.encode(SENTENCES) - rid.encode(SENTENCES)
    assert np.linalg.matrix_rank(lost, tol=1e-5) == 1
    direction = lost[0] / np.linalg.norm(lost[0])
    np.testing.assert_allclose(rid.encode(SENTENCES) @ direction, 0, atol=1e-5)


def test_only_the_most_frequent_words_are_kept(trained: Path, tmp_path: Path) -> None:
    words = load_word_vectors(exported(trained, tmp_path / "out", "--words", "4") / "words")
    assert words.words[1:] == load_word_vectors(trained / "vectors").words[1:5]


def test_a_folder_that_holds_something_is_left_alone(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(trained / "model"), "--out", str(trained / "vectors")]) == 2
    assert "not empty; give a new folder" in capsys.readouterr().err


@pytest.fixture(scope="module")
def views(trained: Path) -> Path:
    """A model of views, by words that ship."""
    data = replace(make_data(trained / "views"), vectors=BUNDLED_VECTORS)
    config = preset("laptop", views=("SEQ", "LIN"), hidden_size=4, epochs=1, words_beside=1.0)
    run(data, trained / "views" / "model", config)
    return trained / "views" / "model"


def test_views_are_passed_on_without_the_places_of_their_maker(views: Path, tmp_path: Path) -> None:
    assert main([str(views), "--out", str(tmp_path / "out")]) == 0
    assert "/" not in (tmp_path / "out" / "model.json").read_text(encoding="utf-8")
    found = models.load(tmp_path / "out").encode_views(SENTENCES)
    expected = models.load(views).encode_views(SENTENCES)
    assert list(found) == ["0-SEQ.last", "1-LIN.last", "2-BOW.last"]
    for name, vectors in expected.items():
        np.testing.assert_array_equal(found[name], vectors)


def test_what_is_of_a_bag_is_refused_for_views(
    views: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(views), "--out", str(tmp_path / "out"), "--words", "5"]) == 2
    assert "--words and --components are of a bag of words" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_components_need_a_corpus(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = exported(trained, tmp_path / "out")
    again = [str(out), "--out", str(tmp_path / "again"), "--components", "1"]
    assert main(again) == 2
    assert "names no corpus that components could be found on" in capsys.readouterr().err
    assert not (tmp_path / "again").exists()


def test_words_that_lie_outside_the_folder_are_not_taken(trained: Path, tmp_path: Path) -> None:
    out = exported(trained, tmp_path / "out")
    edit_json(out / "model.json", lambda value: value["vectors"].update(path="../elsewhere"))
    with pytest.raises(ValueError, match="leads out of the folder"):
        models.load(out)


def test_a_folder_that_was_not_finished_is_not_left(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(trained / "model"), "--out", str(tmp_path / "out")]
    assert main([*arguments, "--results", str(tmp_path / "none")]) == 2
    assert not (tmp_path / "out").exists()
    capsys.readouterr()
    assert main(arguments) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'out'}\n"


def test_the_job_of_its_training_which_names_its_makers_folders_stays(
    trained: Path, tmp_path: Path
) -> None:
    (trained / "model" / "job.json").write_text("{}", encoding="utf-8")
    for form in ("treeviews", "sentence-transformers"):
        out = exported(trained, tmp_path / form, "--format", form)
        assert not [*out.rglob("job.json")]
