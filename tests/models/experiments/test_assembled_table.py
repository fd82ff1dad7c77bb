"""A table from results made by hand: our figures, the papers' beside them, what is absent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from models.evaluation.task_result import TaskResult
from models.experiments.columns import MEAN_SIMILARITY, SIMILARITY, columns
from models.experiments.declaration import Note, NotHere, Published, Row, Trained, Training
from models.experiments.result_table import Cell, ResultTable, read_table, write_table
from tests.support.evaluation_examples import result, similarities, task
from tests.support.scored_tables import (
    GENERATIVE,
    MEAN,
    OURS,
    experiment,
    scored,
    scores,
    small_table,
    without,
)


def cell(table: ResultTable, column: str, *, row: int = 0, line: int = 0) -> Cell:
    place = [heading.name for heading in table.columns].index(column)
    return table.rows[row].lines[line].cells[place]


def test_a_single_seed_has_an_interval() -> None:
    found = cell(small_table(scored(OURS, scores(0.8))), "MR")

    assert (found.value, found.deviation, found.num_seeds) == (80.0, None, 1)
    assert found.low is not None and found.low < 80.0 < (found.high or 0.0)


def test_several_seeds_have_a_deviation_and_their_number() -> None:
    table = small_table(scored(OURS, scores(0.8), scores(0.9, seed=1)))

    found = cell(table, "MR")
    assert (found.value, found.num_seeds, found.low) == (85.0, 2, None)
    assert found.deviation == pytest.approx(50**0.5)


def test_published_figures_stand_on_lines_below_a_corpus_each_with_their_scale() -> None:
    (row,) = small_table(scored(OURS, scores(0.8))).rows

    assert [line.source for line in row.lines] == [
        *("here", "B, table 3, G1", "B, table 3, G2", "B, table 3, G3")
    ]
    ours, theirs, others = row.lines[:3]
    assert (ours.scale.corpus, ours.scale.sentences, ours.scale.width) == ("stories", 74_000, 64)
    assert (theirs.scale.corpus, theirs.scale.sentences, theirs.scale.width) == (
        *("BookCorpus", 74e6, 2048),
    )
    assert others.scale.corpus == "UMBC News"
    assert [one.value for one in theirs.cells] == [71.1, None, None]


def test_the_letters_of_sources_are_told() -> None:
    assert small_table(scored(OURS, scores(0.8))).notes[0] == "B: Tang & de Sa 2018."


def test_a_model_that_is_not_here_has_published_figures_and_a_reason() -> None:
    other = Row("InferSent", NotHere("trained with labels"), published=Published("InferSent"))

    table = small_table(scored(OURS, scores(0.8)), declared=experiment(OURS, other))

    assert table.rows[1].not_here == "trained with labels"
    (line,) = table.rows[1].lines
    assert not line.measured and line.cells[0].value == 67.1 and line.scale.width is None


def test_an_absent_task_says_why_in_its_cell_and_in_a_note() -> None:
    table = small_table(scored(OURS, without(scores(0.8), "MR", "no such file")))

    assert cell(table, "MR") == Cell(reason="no such file")
    assert cell(table, "STS14").value is not None
    assert "MR: absent (no such file)" in table.notes


def test_a_row_whose_encoder_is_missing_says_why() -> None:
    own = Row("mine", Trained(GENERATIVE))

    table = small_table(
        scored(OURS, scores(0.8)),
        declared=experiment(OURS, own),
        missing={"mine": "no such folder"},
    )

    assert table.rows[1].not_here == "no such folder" and table.rows[1].lines == ()


def test_an_average_is_given_where_all_of_its_tasks_were_scored() -> None:
    found = {name: result(similarities(60, 0.4), task(name, "similarity")) for name in SIMILARITY}
    declared = replace(experiment(OURS), columns=columns(MEAN_SIMILARITY))

    whole = small_table(scored(OURS, found), declared=declared)
    part = small_table(
        scored(OURS, {name: found[name] for name in SIMILARITY[1:]}), declared=declared
    )

    assert cell(whole, MEAN_SIMILARITY).low is not None
    assert cell(part, MEAN_SIMILARITY).reason == "without STS12 it would be another figure"
    assert cell(part, MEAN_SIMILARITY, line=1).value == 69.4


def test_facts_are_those_of_the_model_and_its_training() -> None:
    names = ("hours", "parameters", "dimensions", "held-out accuracy", "development score")
    table = small_table(
        scored(OURS, scores(0.8)),
        scored(MEAN, scores(0.7)),
        declared=experiment(OURS, MEAN, names=names),
    )

    values = [cell(table, name).value for name in names]
    assert values == [0.025, 1_234_567, 300, 75.0, 71.5]
    assert cell(table, "hours", row=1) == Cell()


# The best row.

OTHER = Row("other", Trained(Training("other", "B-G", changes={"epochs": 2})))


def best_of(*rows: tuple[Row, float]) -> list[str]:
    """Returns what rows are chosen by: given with their development scores."""
    made = []
    for row, development in rows:
        results = scores(0.7)
        for name, score in (("MR", development or None), ("STS14", None)):
            one: TaskResult = results[name]
            results[name] = replace(one, outcome=replace(one.outcome, dev_score=score))
        made.append(scored(row, results))
    declared = replace(experiment(*(row for row, _ in rows)), best_by="development score")
    return [row.chosen_by for row in small_table(*made, declared=declared).rows]


def test_the_best_row_is_that_of_the_highest_development_score() -> None:
    assert best_of((OURS, 70.0), (OTHER, 80.0)) == ["", "development score"]
    assert best_of((OURS, 0.0), (OTHER, 0.0)) == ["", ""]


# What is said below.


def test_text_settings_and_classifier_are_told_beside_the_papers() -> None:
    one = scores(0.8)["MR"]
    setup = replace(
        one.setup,
        representation={"name": "multi-view", "views": ["0-SEQ"]},
        classifier={"classifier": "logistic_regression", "num_folds": 3},
    )

    notes = small_table(scored(OURS, {"MR": replace(one, setup=setup)})).notes

    assert "Text: stories. Held out, and so not trained on: 30 % of the documents." in notes
    assert "Where something is learnt: classifier logistic_regression, num_folds 3." in notes
    assert "Represented as multi-view: B-G." in notes
    assert "B-G, in parentheses the preset: hidden_size 64 (2048)." in notes
    assert any(note.startswith("Classifier: an exact logistic regression") for note in notes)


# As a file.


def test_a_table_is_read_as_it_was_written(tmp_path) -> None:
    table = small_table(
        scored(OURS, scores(0.8), scores(0.9, seed=1)),
        scored(MEAN, without(scores(0.7), "MR", "none")),
    )

    write_table(tmp_path / "table.json", table)

    assert read_table(tmp_path / "table.json") == table


def test_another_file_is_no_table(tmp_path) -> None:
    (tmp_path / "other.json").write_text("{}")

    with pytest.raises(ValueError, match=r"other\.json: no table of this release; delete it"):
        read_table(tmp_path / "other.json")


def test_notes_speak_of_columns_that_stand_here() -> None:
    said = (Note("about MR", columns=("MR",)), Note("about MSE", columns=("SICK-R MSE",)), "about")
    declared = replace(experiment(OURS, names=("MR", "STS14")), notes=said)
    notes = small_table(scored(OURS, scores(0.8)), declared=declared).notes
    assert [note for note in notes if note.startswith("about")] == ["about MR", "about"]
    assert not any("the lower is the better" in note for note in notes)
