"""A model's folder that is moved, shared, and read by others."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import models
from models.config.training_presets import preset
from models.exchange.export import export_model
from models.exchange.export_card import ExportOptions
from pipeline.base.bundled import BUNDLED_MODELS
from tests.support.command import subcommand
from tests.support.edited_json import edit
from tests.support.tiny_senteval import write_tiny_senteval
from tests.support.training_runs import make_data, run

SENTENCES = ["the cat sees the dog", "the goat likes the mouse outside"]
WHOLE = ExportOptions(self_contained=True)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A work folder with a corpus, its vectors and a model of views that read no parses."""
    work = tmp_path_factory.mktemp("work")
    config = preset("laptop", views=("SEQ", "LIN"), hidden_size=4, epochs=1)
    run(make_data(work), work / "models" / "SEQ-LIN", config)
    return work


@pytest.fixture(scope="module")
def expected(work: Path) -> np.ndarray:
    return models.load(work / "models" / "SEQ-LIN").encode(SENTENCES)


def test_a_model_names_no_place_of_its_makers_machine(work: Path) -> None:
    text = (work / "models" / "SEQ-LIN" / "model.json").read_text(encoding="utf-8")
    assert str(work) not in text
    assert json.loads(text)["vectors"]["nearby"] == "vectors"


def test_a_work_folder_can_be_moved_as_a_whole(
    work: Path, expected: np.ndarray, tmp_path: Path
) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(work, moved)
    (moved / "vectors").rename(tmp_path / "kept")
    with pytest.raises(ValueError, match=r"word vectors of the model .* were not found"):
        models.load(moved / "models" / "SEQ-LIN")
    (tmp_path / "kept").rename(moved / "vectors")
    for folder in ("SEQ-LIN", "SEQ-LIN/best"):
        found = models.load(moved / "models" / folder).encode(SENTENCES)
        np.testing.assert_array_equal(found.shape, expected.shape)
    np.testing.assert_array_equal(
        models.load(moved / "models" / "SEQ-LIN").encode(SENTENCES), expected
    )


def test_a_self_contained_model_needs_nothing_beside_it(
    work: Path, expected: np.ndarray, tmp_path: Path
) -> None:
    export_model(work / "models" / "SEQ-LIN", tmp_path / "out", WHOLE)
    moved = shutil.move(tmp_path / "out", tmp_path / "elsewhere")
    assert str(work) not in (Path(moved) / "model.json").read_text()
    np.testing.assert_array_equal(models.load(moved).encode(SENTENCES), expected)


@pytest.mark.slow
def test_parsers_inside_are_those_that_are_used(tmp_path: Path) -> None:
    export_model("english-trees", tmp_path / "out", WHOLE)
    value = json.loads((tmp_path / "out" / "model.json").read_text())
    assert value["parsers"]["dependencies"]["path"] == "parsers/dependencies"
    ours = models.load(tmp_path / "out")
    assert ours.digest == models.load("english-trees").digest


def test_a_parser_that_would_lie_outside_is_refused(tmp_path: Path) -> None:
    export_model("english-trees", tmp_path / "out", WHOLE)
    edit(
        tmp_path / "out" / "model.json",
        lambda value: value["parsers"]["dependencies"].update(path="../elsewhere"),
    )
    with pytest.raises(ValueError, match="leads out of the folder"):
        models.load(tmp_path / "out")


def test_the_licence_goes_on_with_the_model(work: Path, tmp_path: Path) -> None:
    options = ExportOptions(self_contained=True, licence="CC BY 4.0")
    export_model(work / "models" / "SEQ-LIN", tmp_path / "one", options)
    export_model(tmp_path / "one", tmp_path / "two", WHOLE)
    assert json.loads((tmp_path / "two" / "model.json").read_text())["licence"] == "CC BY 4.0"
    assert "- Licence: CC BY 4.0." in (tmp_path / "two" / "card.md").read_text(encoding="utf-8")


def test_a_card_says_what_is_told_of_the_text_and_the_scores(work: Path, tmp_path: Path) -> None:
    data, results = write_tiny_senteval(tmp_path / "data"), tmp_path / "results"
    asked = [
        "--encoder",
        "bag_of_words",
        "--data",
        str(data),
        "--tasks",
        "STS13",
        "--out",
        str(results),
    ]
    assert subcommand("evaluate")(asked) == 0
    options = [
        *("--self-contained", "--text-licence", "CC0", "--results", str(results)),
        *("--out", str(tmp_path / "out")),
    ]
    assert subcommand("models", "export")([str(work / "models" / "SEQ-LIN"), *options]) == 0
    card = (tmp_path / "out" / "card.md").read_text(encoding="utf-8")
    assert "| the text of its training | CC0 |" in card
    assert "## Scores" in card and "STS13" in card


@pytest.mark.slow
def test_what_ships_is_read_as_it_was(tmp_path: Path) -> None:
    for name, folder in BUNDLED_MODELS.items():
        assert "made" not in json.loads((folder / "model.json").read_text()), name
    export_model("english", tmp_path / "out")
    assert models.load(tmp_path / "out").digest == models.load("english").digest
