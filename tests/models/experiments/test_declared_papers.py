"""What the papers' tables declare: every published row has its place, every training can be."""

from __future__ import annotations

import pytest

from models.evaluation.representation import representation_named
from models.experiments.configs import changes_of, check_trainings, config_of
from models.experiments.declaration import (
    WORDS,
    Experiment,
    NotHere,
    Row,
    Trained,
    Training,
)
from models.experiments.papers import invertible_decoders, multi_view_frameworks
from models.experiments.papers.framework_rows import taken_of, together
from models.experiments.published import published_beside, published_rows

EXPERIMENTS = (*multi_view_frameworks.EXPERIMENTS, *invertible_decoders.EXPERIMENTS)
named = pytest.mark.parametrize("experiment", EXPERIMENTS, ids=[one.name for one in EXPERIMENTS])


@named
def test_rows_are_told_apart_and_have_a_baseline(experiment: Experiment) -> None:
    titles = [row.full_title for row in experiment.rows]

    assert len(titles) == len(set(titles))
    assert any(row.encoder == WORDS for row in experiment.rows)


@named
def test_every_row_of_the_papers_tables_stands_somewhere(experiment: Experiment) -> None:
    shown = {
        source
        for row in experiment.rows
        if row.published is not None
        for found in published_beside(row.published, experiment.tables)
        for source in found.source.split("; ")
    }

    given = {row.source for row in published_rows() if row.stands_in(experiment.tables)}
    assert given <= shown


@named
def test_every_training_and_representation_can_be(experiment: Experiment) -> None:
    check_trainings(experiment, {})
    for row in experiment.rows:
        if not isinstance(row.encoder, NotHere):
            representation_named(experiment.representation, **row.changes)


def test_a_width_is_of_every_training_and_changes_yield_to_what_makes_a_variant() -> None:
    training = Training("free", "B-G", changes={"orthonormal_rate": 0.0, "hidden_size": 4})

    changes = changes_of(training, {"orthonormal_rate": 0.1, "epochs": 2}, width=8)

    assert changes == {"orthonormal_rate": 0.0, "epochs": 2, "hidden_size": 8}
    assert config_of(training, changes).hidden_size == 8


def experiment_of(*trainings: Training) -> Experiment:
    rows = tuple(Row(one.name, Trained(one)) for one in trainings)
    return Experiment("one", "One", (), rows, ())


@pytest.mark.parametrize(
    ("changes", "width", "said"),
    [
        ({"hidden_size": 8}, 8, "--width and --changes both set hidden_size"),
        ({}, 0, "--width must be at least 1, not 0"),
        ({"hiden_size": 8}, None, "training B-G: unknown training setting"),
        ({}, 7, "training B-G: hidden_size must be even"),
        (
            {"init": "he"},
            8,
            "trainings B-G and C-linear are the same; leave one out",
        ),
    ],
)
def test_trainings_that_cannot_be_or_are_the_same_are_refused(changes, width, said) -> None:
    experiment = experiment_of(Training("B-G", "B-G"), Training("C-linear", "C-linear"))

    with pytest.raises(ValueError, match=said):
        check_trainings(experiment, changes, width)


def test_a_model_gives_a_row_a_view_and_one_together_with_the_component_also_kept() -> None:
    rows = taken_of(("SEQ", "LIN", "INV"))
    assert [(row.in_words, row.part) for row in rows] == [
        ("z_en (0-SEQ)", "en"),
        ("z_de (1-LIN)", "de"),
        ("z_de (2-INV)", ""),
        ("ensemble", "ensemble"),
    ]
    assert [row.changes for row in (rows[2], *together(kept=True))] == [
        {"views": ["2-INV"], "components_from": "train"},
        {"components_from": "train"},
        {"remove_components": 0},
    ]
    assert [row.title for row in taken_of(("LIN",))] == ["z_de (0-LIN)"]


def test_each_papers_rows_are_pooled_as_it_says_trained_or_not() -> None:
    pooled = {
        row.title
        for one in EXPERIMENTS
        for row in one.rows
        if not isinstance(row.encoder, NotHere) and "last" not in pooling_of(row)
    }
    assert {"C-linear", "C-linear, random weights", "word vectors"} <= pooled
    assert not {"B-G", "B-G, random weights"} & pooled


def pooling_of(row: Row) -> tuple[str, ...]:
    return representation_named("multi-view", **row.changes).supervised_pooling
