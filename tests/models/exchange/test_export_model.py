"""A model's folder that is passed on: self-contained or not, a trained bag of words made small."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.command import subcommand
from tests.support.edited_json import edit
from tests.support.tiny_senteval import write_tiny_senteval
from tests.support.training_runs import make_data, run
from treeviews import models
from treeviews.models.config.training_presets import preset
from treeviews.models.exchange.export_card import ExportOptions
from treeviews.models.exchange.export_model import export_model
from treeviews.models.words.word_vectors import load_word_vectors
from treeviews.pipeline.base.bundled import BUNDLED_VECTORS

main = subcommand("models", "export")
SENTENCES = ["the cat sees the dog", "the goat likes the mouse outside", "a bird"]
WHOLE = ExportOptions(self_contained=True)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A work folder with a corpus, its vectors, a trained bag of words and models of views."""
    work = tmp_path_factory.mktemp("work")
    data = make_data(work)
    bag = preset("weighted-words", batch_size=32, epochs=2, held_out_fraction=0.2)
    run(data, work / "models" / "bag", bag)
    config = preset("laptop", views=("SEQ", "LIN"), hidden_size=4, epochs=1)
    run(data, work / "models" / "views", config)
    shipped = replace(data, vectors=BUNDLED_VECTORS)
    run(shipped, work / "models" / "shipped", config.changed(words_beside=1.0))
    return work


def exported(model: Path, out: Path, *more: str) -> Path:
    assert main([str(model), "--out", str(out), *more]) == 0
    return out


def cosines(vectors: np.ndarray) -> np.ndarray:
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit @ unit.T


def test_a_bag_gives_the_trained_means_to_a_byte(work: Path, tmp_path: Path) -> None:
    bag = work / "models" / "bag"
    found = models.load(exported(bag, tmp_path / "out")).encode(SENTENCES)
    assert np.abs(cosines(found) - cosines(models.load(bag).encode(SENTENCES))).max() < 1e-2
    words = load_word_vectors(exported(bag, tmp_path / "few", "--words", "4") / "words")
    assert words.words[1:] == load_word_vectors(work / "vectors").words[1:5]


def test_a_component_of_the_corpus_is_gone(work: Path, tmp_path: Path) -> None:
    bag = work / "models" / "bag"
    kept = models.load(exported(bag, tmp_path / "kept", "--components", "0"))
    rid = models.load(exported(bag, tmp_path / "rid", "--components", "1"))
    lost = kept.encode(SENTENCES) - rid.encode(SENTENCES)
    assert np.linalg.matrix_rank(lost, tol=1e-5) == 1
    direction = lost[0] / np.linalg.norm(lost[0])
    np.testing.assert_allclose(rid.encode(SENTENCES) @ direction, 0, atol=1e-5)


@pytest.mark.parametrize(
    ("model", "options", "said"),
    [
        ("shipped", ["--words", "5"], "--words and --components are of a bag of words"),
        ("views", [], "give --self-contained, which puts them inside"),
        ("exported", ["--components", "1"], "names no corpus that components could be found on"),
        ("bag", ["--format", "pickle"], "'pickle' is not one of 'treeviews'"),
    ],
)
def test_what_cannot_be_exported_is_named_and_leaves_no_folder(
    model: str, options: list[str], said: str, work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if model == "exported" and not (work / "models" / model).exists():
        exported(work / "models" / "bag", work / "models" / model)
    out = work / "out"
    assert main([str(work / "models" / model), "--out", str(out), *options]) == 2
    assert said in capsys.readouterr().err
    assert not out.exists()
    assert main([str(work / "models" / model), "--out", str(work / "vectors")]) == 2
    assert "not empty; give a new folder" in capsys.readouterr().err


def test_a_model_is_passed_on_without_the_places_of_its_maker(work: Path, tmp_path: Path) -> None:
    model = work / "models" / "shipped"
    (model / "job.json").write_text("{}", encoding="utf-8")
    out = exported(model, tmp_path / "out")
    assert "/" not in (out / "model.json").read_text(encoding="utf-8")
    assert not [*out.rglob("job.json")]
    found, expected = (models.load(place).encode_views(SENTENCES) for place in (out, model))
    assert list(found) == ["0-SEQ.last", "1-LIN.last", "2-BOW.last"]
    for name, vectors in expected.items():
        np.testing.assert_array_equal(found[name], vectors)


def test_a_work_folder_can_be_moved_as_a_whole(work: Path, tmp_path: Path) -> None:
    text = (work / "models" / "views" / "model.json").read_text(encoding="utf-8")
    assert str(work) not in text and json.loads(text)["vectors"]["nearby"] == "vectors"
    expected = models.load(work / "models" / "views").encode(SENTENCES)
    moved = tmp_path / "moved"
    shutil.copytree(work, moved)
    (moved / "vectors").rename(tmp_path / "kept")
    with pytest.raises(ValueError, match=r"word vectors of the model .* not found"):
        models.load(moved / "models" / "views")
    (tmp_path / "kept").rename(moved / "vectors")
    found = models.load(moved / "models" / "views").encode(SENTENCES)
    np.testing.assert_array_equal(found, expected)
    assert models.load(moved / "models" / "views" / "best").encode(SENTENCES).any()


def test_a_self_contained_model_needs_nothing_beside_it(work: Path, tmp_path: Path) -> None:
    model = work / "models" / "views"
    options = WHOLE.changed(licence="CC BY 4.0")
    export_model(model, tmp_path / "one", options)
    moved = Path(shutil.move(tmp_path / "one", tmp_path / "elsewhere"))
    assert str(work) not in (moved / "model.json").read_text()
    found, expected = (models.load(place).encode(SENTENCES) for place in (moved, model))
    np.testing.assert_array_equal(found, expected)
    export_model(moved, tmp_path / "two", WHOLE)
    assert json.loads((tmp_path / "two" / "model.json").read_text())["licence"] == "CC BY 4.0"
    assert "- Licence: CC BY 4.0." in (tmp_path / "two" / "card.md").read_text(encoding="utf-8")
    edit(moved / "model.json", lambda value: value["vectors"].update(path="../elsewhere"))
    with pytest.raises(ValueError, match="leads out of the folder"):
        models.load(moved)


def test_parsers_inside_are_those_that_are_used(tmp_path: Path) -> None:
    export_model("english-trees", tmp_path / "out", WHOLE)
    value = json.loads((tmp_path / "out" / "model.json").read_text())
    assert value["parsers"]["dependencies"]["path"] == "parsers/dependencies"
    assert models.load(tmp_path / "out").digest == models.load("english-trees").digest


def test_a_card_says_what_is_told_of_the_text_and_the_scores(work: Path, tmp_path: Path) -> None:
    data, results = write_tiny_senteval(tmp_path / "data"), tmp_path / "results"
    asked = ["--encoder", "bag_of_words", "--data", str(data), "--tasks", "STS13"]
    assert subcommand("evaluate")([*asked, "--out", str(results)]) == 0
    options = ["--self-contained", "--text-licence", "CC0", "--results", str(results)]
    out = exported(work / "models" / "views", tmp_path / "out", *options)
    card = (out / "card.md").read_text(encoding="utf-8")
    assert "| the text of its training | CC0 |" in card
    assert "## Scores" in card and "STS13" in card
