"""Simoulin & Crabbé's figures agree with one another, and each stands in a table of ours."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import pytest

from models.config.training_presets import preset
from models.evaluation.averages import AVERAGES
from models.experiments.columns import column_named
from models.experiments.declaration import Ready, Trained, Untrained
from models.experiments.papers.structured_views import (
    EMBEDDING_SIZE,
    EXPERIMENTS,
    RANDOM_BASELINES,
    SENTEVAL_TABLE,
    VIEW_PAIRS,
    WIDTHS,
)
from models.experiments.published import PublishedRow, published_beside, published_rows

AVG7, SHORT = AVERAGES[:2]
OF_A = [row for row in published_rows() if row.paper == "A"]


def average(row: PublishedRow, of: str) -> float:
    """Returns an average of a row's figures, whether or not the paper prints one."""
    column = column_named(of)
    found = replace(row, figures={k: v for k, v in row.figures.items() if k != of}).figure(column)
    assert found is not None
    return found


def row_of(model: str, table: str, corpus: str = "UMBC 40M") -> PublishedRow:
    (found,) = (
        row for row in OF_A if row.stands_in([table]) and (row.model, row.corpus) == (model, corpus)
    )
    return found


def test_an_average_is_printed_or_computed_or_none() -> None:
    column = column_named("avg7")
    printed, whole = row_of("DEP,CONST", "A, table 2"), row_of("DEP,CONST", "A, table 1")
    part = row_of("Skip-thought + LN", "A, table 1", "BookCorpus")

    assert printed.figure(column) == 86.0 and not printed.is_computed(column)
    assert whole.figure(column) == pytest.approx(86.0, abs=0.01) and whole.is_computed(column)
    assert part.figure(column) is None and not part.is_computed(column)


@pytest.mark.parametrize("model", ["SEQ,DEP", "SEQ,CONST", "DEP,CONST"])
def test_the_papers_averages_are_those_of_its_figures(model: str) -> None:
    printed = row_of(model, "A, table 2").figures["avg7"]

    assert round(average(row_of(model, "A, table 1"), AVG7.name), 1) == printed


def test_the_other_averages_have_no_figures_to_be_made_from() -> None:
    with_average = {row.model for row in OF_A if "avg7" in row.figures}
    with_figures = {row.model for row in OF_A if "SICK-R MSE" in row.figures}

    assert with_average - with_figures == {"SEQ,SEQ", "DEP,DEP", "CONST,CONST"}


@pytest.mark.parametrize(
    ("model", "corpus", "expected"),
    [
        ("QuickThoughts", "UMBC 40M", 86.2),
        ("random LSTM", "", 83.2),
        ("DEP,CONST", "UMBC 40M", 86.4),
    ],
)
def test_the_average_of_what_its_last_table_gives_of_all_rows(
    model: str, corpus: str, expected: float
) -> None:
    assert round(average(row_of(model, "A, table 3", corpus), SHORT.name), 1) == expected


def test_a_figure_that_stands_in_two_tables_is_the_same_in_both() -> None:
    found = defaultdict(set)
    for row in OF_A:
        for name, value in row.figures.items():
            found[row.model, row.corpus, name].add(value)

    assert {key: values for key, values in found.items() if len(values) > 1} == {}


def test_every_published_row_stands_beside_a_row_of_ours_or_in_a_row_of_its_own() -> None:
    shown = {
        source
        for experiment in EXPERIMENTS
        for row in experiment.rows
        if row.published is not None
        for line in published_beside(row.published, experiment.tables)
        for source in line.source.split("; ")
    }

    assert {row.source for row in OF_A} == shown


def test_each_of_six_pairs_stands_beside_its_random_weights_and_its_words() -> None:
    pairs = {row.title for row in VIEW_PAIRS.rows if row.group.endswith("view models")}

    assert len(pairs) == 6
    for pair in pairs:
        rows = [row for row in VIEW_PAIRS.rows if row.title == pair]
        assert [type(row.encoder) for row in rows] == [Trained, Trained, Untrained]
        assert [bool(row.changes.get("join_words")) for row in rows] == [False, True, False]
        assert rows[0].published is not None and rows[0].trainings == rows[1].trainings
    assert {row.encoder.name for row in VIEW_PAIRS.rows if isinstance(row.encoder, Ready)} == {
        "bag_of_words",
        "sif",
    }


def test_the_models_of_the_task_table_have_both_vocabularies_as_published() -> None:
    ours = [row for row in SENTEVAL_TABLE.rows if isinstance(row.encoder, Trained)]

    assert [row.title for row in ours] == ["QuickThoughts", "SEQ,DEP", "SEQ,CONST", "DEP,CONST"]
    assert {row.encoder.words for row in ours} == {"ensemble"}  # type: ignore[union-attr]


@pytest.mark.parametrize("width", WIDTHS)
def test_at_each_width_training_is_told_from_random_weights_and_from_words(width: int) -> None:
    rows = [row for row in EMBEDDING_SIZE.rows if row.changes.get("project_to_width") == width]

    assert [type(row.encoder) for row in rows] == [Trained, Untrained, Ready]
    assert {row.seeded for row in rows} == {("projection_seed",)}


def test_one_training_serves_all_tables_that_have_it() -> None:
    trainings = [
        training
        for experiment in EXPERIMENTS
        for training in experiment.trainings
        if training.name == "DEP,CONST"
    ]

    assert len(trainings) == 4 and all(one == trainings[0] for one in trainings)


def test_all_that_is_trained_can_be_and_all_that_is_not_can_be_made() -> None:
    for experiment in EXPERIMENTS:
        for row in experiment.rows:
            made = row.architecture
            if made is not None:
                views = {"views": made.views} if made.views else {}
                config = preset(made.preset, **made.changes, **views)
                if isinstance(row.encoder, Trained):
                    config.check_trainable()


def test_the_random_baselines_are_those_the_paper_names() -> None:
    configs = {
        row.title: preset(row.encoder.training.preset, views=row.encoder.training.views).changed(
            row.encoder.training.changes
        )
        for row in RANDOM_BASELINES.rows
        if isinstance(row.encoder, Untrained)
    }

    assert configs["LSTM"].seq_cell == "lstm" and configs["LSTM"].bidirectional
    assert configs["BoW"].views == ("LIN",)
    assert configs["vectors"].views == ("BOW",)
    assert configs["vectors"].word_vectors == "trained"  # so they start at random
