"""What ensembles of models are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.evaluation.joined_spec import ModelViews, is_joined, joined_models, short_name


@pytest.fixture
def models(tmp_path: Path) -> Path:
    for name in ("f", "g", "f+g", "f@SEQ", "with+sign@home"):
        (tmp_path / name).mkdir()
    return tmp_path


def test_models_and_their_views_are_found_in_order(models: Path) -> None:
    spec = f"{models}/g@LIN+{models}/f@0-SEQ+{models}/g"

    assert is_joined(spec)
    assert joined_models(spec) == [
        ModelViews(models / "g", ("LIN",)),
        ModelViews(models / "f", ("0-SEQ",)),
        ModelViews(models / "g"),
    ]
    assert short_name(spec) == "g@LIN+f@0-SEQ+g"


def test_one_view_of_one_model_is_of_this_form(models: Path) -> None:
    assert joined_models(f"{models}/f@INV") == [ModelViews(models / "f", ("INV",))]


def test_folders_may_have_the_signs_in_their_names(models: Path) -> None:
    assert not is_joined(f"{models}/f+g") and not is_joined(f"{models}/f@SEQ")
    spec = f"{models}/with+sign@home@SEQ+{models}/f@SEQ+{models}/f@LIN"

    assert joined_models(spec) == [
        ModelViews(models / "with+sign@home", ("SEQ",)),
        ModelViews(models / "f@SEQ"),
        ModelViews(models / "f", ("LIN",)),
    ]


@pytest.mark.parametrize("spec", ["bag_of_words", "random-0", "trained-1", "mine:encode", "a/b"])
def test_other_names_are_not_of_this_form(spec: str) -> None:
    assert not is_joined(spec)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("{}/f@SEQ+nowhere@LIN", "'nowhere@LIN' does not begin with the folder of a model; MODEL@"),
        ("{}/f+bag_of_words", "'bag_of_words' does not begin with the folder of a model"),
        ("trained@INV", "'trained@INV' does not begin with the folder of a model"),
        ("{}/f@", "give a view after '.*/f@', or leave @ out"),
        ("{}/f+", "'' does not begin"),
        ("@SEQ", "'@SEQ' does not begin"),
    ],
)
def test_what_cannot_be_joined_is_named(models: Path, spec: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        joined_models(spec.format(models))
