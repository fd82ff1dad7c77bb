"""Simoulin & Crabbé's figures agree with one another, and each stands in a table of ours."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import pytest

from models.config.training_presets import preset
from models.evaluation.averages import AVERAGES
from models.experiments.columns import column_named
from models.experiments.declaration import Trained
from models.experiments.papers.structured_views import (
    EXPERIMENTS,
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


def test_all_that_is_trained_can_be_and_all_that_is_not_can_be_made() -> None:
    for experiment in EXPERIMENTS:
        for row in experiment.rows:
            made = row.architecture
            if made is not None:
                views = {"views": made.views} if made.views else {}
                config = preset(made.preset, **made.changes, **views)
                if isinstance(row.encoder, Trained):
                    config.check_trainable()
