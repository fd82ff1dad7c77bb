"""The grammar of what encoders are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from treeviews.models.encoding.encoder_names import EncoderName, ModelViews, parse_encoder_name
from treeviews.pipeline.base.bundled import BUNDLED_MODELS


def joined_models(spec: str) -> list[ModelViews]:
    name = parse_encoder_name(spec)
    assert name.kind == "joined"
    return list(name.parts)


@pytest.fixture
def models(tmp_path: Path) -> Path:
    for name in ("f", "g", "f+g", "f@SEQ", "at@home"):
        (tmp_path / name).mkdir()
    return tmp_path


def test_models_and_their_views_are_found_in_order(models: Path) -> None:
    spec = f"{models}/g@LIN+{models}/f@0-SEQ+{models}/g+english@BOW"

    assert joined_models(spec) == [
        ModelViews(models / "g", ("LIN",)),
        ModelViews(models / "f", ("0-SEQ",)),
        ModelViews(models / "g"),
        ModelViews(BUNDLED_MODELS["english"], ("BOW",)),
    ]
    assert parse_encoder_name(spec).shown == "g@LIN+f@0-SEQ+g+english@BOW"


def test_folders_may_have_the_signs_in_their_names(models: Path) -> None:
    for folder in (f"{models}/f+g", f"{models}/f@SEQ"):
        name = parse_encoder_name(folder)
        assert name.kind == "model" and name.parts == (ModelViews(Path(folder)),)
    spec = f"{models}/at@home@SEQ+{models}/f@SEQ+{models}/f@LIN"

    assert joined_models(spec) == [
        ModelViews(models / "at@home", ("SEQ",)),
        ModelViews(models / "f@SEQ"),
        ModelViews(models / "f", ("LIN",)),
    ]


@pytest.mark.parametrize(
    "name",
    [
        EncoderName("bag_of_words", "bag_of_words"),
        EncoderName("sif", "sif"),
        EncoderName("english", "model", parts=(ModelViews(BUNDLED_MODELS["english"]),)),
        EncoderName("random-0", "random", seed=0),
        EncoderName("random-12", "random", seed=12),
        EncoderName("trained", "trained"),
        EncoderName("trained-1", "trained", seed=1),
        EncoderName("mine.module:encode", "function"),
    ],
)
def test_each_form_stands_for_a_kind_of_encoder(name: EncoderName) -> None:
    assert parse_encoder_name(name.called) == name
    assert name.shown == name.called


@pytest.mark.parametrize("called", ["a/b", "bag"])
def test_what_is_of_no_form_is_told_all_forms(called: str) -> None:
    with pytest.raises(ValueError, match=r"no such folder and no known.*; give trained") as error:
        parse_encoder_name(called)
    for form in ("trained-SEED", "random-SEED", "bag_of_words", "MODEL@VIEW+MODEL@VIEW"):
        assert form in str(error.value)


@pytest.mark.parametrize(
    ("called", "meant"),
    [("random", "random-0"), ("random-first", "random-0"), ("trained-", "trained")],
)
def test_a_name_that_resembles_a_form_is_corrected(called: str, meant: str) -> None:
    with pytest.raises(ValueError, match=rf"no known name; did you mean {meant}\?$"):
        parse_encoder_name(called)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("{}/f@SEQ+nowhere@LIN", "'nowhere@LIN' does not begin with the folder of a model; MODEL@"),
        ("{}/f+bag_of_words", "'bag_of_words' does not begin with the folder of a model"),
        ("trained@INV", "'trained@INV' does not begin with the folder of a model"),
        ("{}/f+", "'' does not begin"),
        ("@SEQ", "'@SEQ' does not begin"),
    ],
)
def test_what_cannot_be_joined_is_named(models: Path, spec: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        joined_models(spec.format(models))
