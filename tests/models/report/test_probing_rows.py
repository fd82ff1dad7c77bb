"""The rows of the probing table, declared."""

from __future__ import annotations

import pytest

from models.encoding.encoder_names import READY
from models.report.probing_table import declare_rows, is_random_row, is_trained_row
from pipeline.base.bundled import BUNDLED_MODELS


def test_rows_are_those_that_must_stand_beside_a_trained_pair() -> None:
    rows = {row.name: row for row in declare_rows(("DEP", "CONST"), embedding_width=40)}
    assert list(rows) == [
        "pair", "view_0-DEP", "view_1-CONST", "random_weights_0", "random_weights_1",
        "random_weights_2", "bag_of_words", "bag_of_words_projected", "sif", *BUNDLED_MODELS,
        "pair_and_bag_of_words", "random_and_bag_of_words",
    ]  # fmt: skip
    assert rows["pair_and_bag_of_words"].representation == {"join_words": True}
    assert rows["bag_of_words_projected"].representation == {"project_to_width": 40}
    assert rows["view_1-CONST"].representation == {"views": ["1-CONST"]}


def test_every_encoder_that_needs_no_training_is_a_row() -> None:
    encoders = [row.encoder for row in declare_rows(("SEQ",), embedding_width=40)]
    assert set(READY) <= set(encoders) and {"sif", *BUNDLED_MODELS} <= set(READY)


def test_equal_views_are_told_apart_by_their_place() -> None:
    rows = {row.name: row for row in declare_rows(("CONST", "CONST"), embedding_width=40)}
    assert rows["view_0-CONST"].description == "first view (CONST) alone, trained"
    assert rows["view_1-CONST"].description == "second view (CONST) alone, trained"


def test_a_single_view_has_one_row() -> None:
    names = [row.name for row in declare_rows(("DEP",), embedding_width=40)]
    assert not [name for name in names if name.startswith("view_")]


def test_several_seeds_of_training_are_rows_of_their_own() -> None:
    rows = {
        row.name: row for row in declare_rows(("DEP", "CONST"), (4,), (7, 8, 9), embedding_width=40)
    }
    assert list(rows)[:3] == ["pair", "pair_seed_8", "pair_seed_9"]
    encoders = [rows[name].encoder for name in list(rows)[:3]]
    assert encoders == ["trained", "trained-8", "trained-9"]
    assert rows["random_and_bag_of_words"].encoder == "random-4"
    assert [name for name in rows if is_trained_row(name)] == list(rows)[:3]
    assert [name for name in rows if is_random_row(name)] == ["random_weights_4"]


def test_no_baseline_needs_the_training() -> None:
    for row in declare_rows(("DEP", "CONST"), embedding_width=40):
        if row.name.startswith(("random", *READY)):
            assert not row.encoder.startswith("trained"), row.name


@pytest.mark.parametrize("seeds", [((0,), ()), ((0, 0), (1,)), ((0,), (1, 1))])
def test_seeds_that_repeat_or_are_missing_are_refused(
    seeds: tuple[tuple[int, ...], tuple[int, ...]],
) -> None:
    with pytest.raises(ValueError, match="seeds must differ and one of training be given"):
        declare_rows(("DEP", "CONST"), *seeds, embedding_width=40)
