"""What the papers' tables declare: every published row has its place, every training can be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from treeviews.models.encoding.encoder_names import BAG_OF_WORDS
from treeviews.models.evaluation.representation import representation_named
from treeviews.models.report.experiment import (
    NOT_HERE,
    Experiment,
    Row,
    Training,
    changes_of,
    check_trainings,
    config_of,
    grid_trainings,
    paper_tables,
    sweep,
)
from treeviews.models.report.table_columns import published_beside, published_rows

TABLES = paper_tables()
named = pytest.mark.parametrize("experiment", TABLES.values(), ids=TABLES)


@named
def test_rows_are_told_apart_and_have_a_baseline(experiment: Experiment) -> None:
    titles = [row.full_title for row in experiment.rows]
    assert len(titles) == len(set(titles))
    assert any(row.encoder == BAG_OF_WORDS for row in experiment.rows)


def test_every_row_of_the_papers_tables_stands_somewhere() -> None:
    shown = {
        source
        for experiment in TABLES.values()
        for row in experiment.rows
        if row.published is not None
        for line in published_beside(row.published, experiment.tables)
        for source in line.source.split("; ")
    }
    tables = [table for experiment in TABLES.values() for table in experiment.tables]
    assert shown == {row.source for row in published_rows() if row.stands_in(tables)}


@named
def test_every_training_and_representation_can_be(experiment: Experiment) -> None:
    check_trainings(experiment, {})
    for row in experiment.rows:
        if row.architecture is not None:
            config_of(row.architecture, {})
        if row.encoder != NOT_HERE:
            representation_named(experiment.representation, **row.changes)


def test_a_mistake_in_a_declaration_names_its_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    shared = 'notes = {}\nscales = {}\ntrainings = {}\nvariants = { v = { encoder = "sif" } }\n'
    table = '[[tables]]\nname = "a"\ntitle = "A"\nsources = []\ncolumns = ["MR"]\nnotes = []\n'
    path.write_text(f"columns = {{}}\n{shared}{table}rows = [{{ as = ['v'], tittle = 'x' }}]\n")
    with pytest.raises(ValueError, match=r"mine\.toml: .*tittle"):
        paper_tables(tmp_path)


def test_a_width_is_of_every_training_and_changes_yield_to_what_makes_a_variant() -> None:
    training = Training("free", "B-G", changes={"orthonormal_rate": 0.0, "hidden_size": 4})
    changes = changes_of(training, {"orthonormal_rate": 0.1, "epochs": 2}, width=8)
    assert changes == {"orthonormal_rate": 0.0, "epochs": 2, "hidden_size": 8}
    assert config_of(training, {}, width=8).hidden_size == 8


@pytest.mark.parametrize(
    ("changes", "width", "message"),
    [
        ({"hidden_size": 8}, 8, "--changes not set hidden_size beside it"),
        ({}, 0, "--width must be at least 1"),
        ({"hiden_size": 8}, None, "training B-G: unknown training setting"),
        ({}, 7, "training B-G: hidden_size must be even"),
        ({"init": "he"}, 8, "trainings B-G and C-linear are the same; leave one out"),
    ],
)
def test_trainings_that_cannot_be_or_are_the_same_are_refused(
    changes: dict[str, Any], width: int | None, message: str
) -> None:
    rows = tuple(Row(name, "trained", (Training(name, name),)) for name in ("B-G", "C-linear"))
    with pytest.raises(ValueError, match=message):
        check_trainings(Experiment("one", "One", (), rows, ()), changes, width)


# Grids.

GRID = {"hidden_size": [100, 300], "learning_rate": [0.0005, 0.002]}


def test_a_cell_is_a_row_and_an_architecture_one_of_random_weights() -> None:
    cells = grid_trainings("laptop", ("DEP", "SEQ"), GRID, {})
    experiment = sweep(
        cells, {}, title="Grid", representation="plain", changes={"join_words": True}
    )

    rows = {kind: [row for row in experiment.rows if row.encoder == kind] for kind in
            ("trained", "untrained", "bag_of_words")}  # fmt: skip
    assert [row.title for row in rows["trained"]] == [
        f"hidden_size {size}, learning_rate {rate}"
        for size in (100, 300)
        for rate in (0.0005, 0.002)
    ]
    assert len(rows["untrained"]) == 2
    assert rows["bag_of_words"][0].changes == {}
    assert rows["trained"][0].changes == {"join_words": True}


@pytest.mark.parametrize(
    ("grid", "changes", "message"),
    [
        ({}, {}, "--grid names no field"),
        ({"hiden_size": [1]}, {}, "unknown training settings .*did you mean hidden_size"),
        ({"hidden_size": 100}, {}, "--grid: hidden_size must have a list of values, not 100"),
        ({"seed": [0, 1]}, {}, "--grid sets seed, which another parameter gives"),
        ({"epochs": [1]}, {"epochs": 2}, "--grid sets epochs, which another parameter gives"),
        ({"negatives": [5, 10]}, {}, "varies negatives, which has no effect"),
    ],
)
def test_what_cannot_be_tried_is_refused(
    grid: dict[str, Any], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        grid_trainings("laptop", ("DEP", "SEQ"), grid, changes)
