"""A table from results made by hand: our figures, the papers' beside them, what is absent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.evaluation_examples import result, similarities, task
from tests.support.scored_tables import MEAN, OURS, experiment, scored, scores, small_table, without
from treeviews.models.evaluation.task_result import TaskResult
from treeviews.models.report.experiment import NOT_HERE, Row, Training
from treeviews.models.report.figures import Figure
from treeviews.models.report.result_table import Line, ResultTable
from treeviews.models.report.table_columns import MEAN_SIMILARITY, MEANS, Published


def cell(table: ResultTable, column: str, *, row: int = 0, line: int = 0) -> Figure:
    place = [heading.name for heading in table.columns].index(column)
    return lines_of(table)[row][line].cells[place]


def lines_of(table: ResultTable) -> list[list[Line]]:
    """Returns the lines of each row."""
    rows: dict[str, list[Line]] = {}
    for line in table.lines:
        rows.setdefault(line.full_title, []).append(line)
    return list(rows.values())


def test_a_single_seed_has_an_interval_and_several_a_deviation() -> None:
    single = cell(small_table(scored(OURS, scores(0.8))), "MR")
    several = cell(small_table(scored(OURS, scores(0.8), scores(0.9, seed=1))), "MR")

    assert (single.value, single.deviation, single.num_seeds) == (80.0, None, 1)
    assert single.low is not None and single.low < 80.0 < (single.high or 0.0)
    assert (several.value, several.num_seeds, several.low) == (85.0, 2, None)
    assert several.deviation == pytest.approx(50**0.5)


def test_published_figures_stand_on_lines_below_a_corpus_each_with_their_scale() -> None:
    table = small_table(scored(OURS, scores(0.8)))
    ours, theirs, others, last = table.lines

    assert [ours.source, theirs.source, last.source] == [
        *("here", "B, table 3, G1", "B, table 3, G3")
    ]
    assert (ours.scale, theirs.scale, others.scale) == (
        *("stories", "BookCorpus; 74 M sentences", "UMBC News"),
    )
    assert [one.value for one in theirs.cells] == [71.1, None, None]
    assert table.notes[0] == "B: Tang & de Sa 2018."
    assert table.trainings[0][:4] == ("B-G", "SEQ", "generative", "1,234,567")


def test_what_is_not_here_says_why() -> None:
    others = (
        Row("InferSent", NOT_HERE, published=Published("InferSent"), reason="trained with labels"),
        Row("mine", NOT_HERE, reason="no second text"),
    )
    table = small_table(
        scored(OURS, without(scores(0.8), "MR", "no such file")),
        declared=experiment(OURS, *others),
        absent={"MR": "no such file"},
    )

    _, (published,), (nothing,) = lines_of(table)
    assert (published.not_here, published.cells[0].value) == ("trained with labels", 67.1)
    assert not published.is_measured and published.scale == ""
    assert nothing.not_here == nothing.cells[0].reason == "no second text"
    assert cell(table, "MR") == Figure(reason="no such file")
    assert cell(table, "STS14").value is not None
    assert "MR: absent (no such file)" in table.notes


def test_an_average_is_given_where_all_of_its_tasks_were_scored() -> None:
    tasks = MEANS[MEAN_SIMILARITY]
    results = {name: result(similarities(60, 0.4), task(name, "similarity")) for name in tasks}
    declared = experiment(OURS, names=(MEAN_SIMILARITY,))
    few = {name: results[name] for name in tasks[1:]}

    whole = small_table(scored(OURS, results), declared=declared)
    part = small_table(scored(OURS, few), declared=declared)

    assert cell(whole, MEAN_SIMILARITY).low is not None
    assert cell(part, MEAN_SIMILARITY).reason == "without STS12 it would be another figure"
    assert cell(part, MEAN_SIMILARITY, line=1).value == 69.4


def test_facts_are_those_of_the_model_and_its_training() -> None:
    names = ("hours", "parameters", "dimensions", "held-out accuracy", "development score")
    declared = experiment(OURS, MEAN, names=names)
    table = small_table(scored(OURS, scores(0.8)), scored(MEAN, scores(0.7)), declared=declared)

    assert [cell(table, name).value for name in names] == [0.025, 1_234_567, 300, 75.0, 71.5]
    assert cell(table, "hours", row=1) == Figure()


OTHER = Row("other", "trained", (Training("other", "B-G", changes={"epochs": 2}),))


@pytest.mark.parametrize(
    ("first", "second", "chosen"),
    [(70.0, 80.0, ["", "development score"]), (None, None, ["", ""]), (70.0, None, ["", ""])],
)
def test_the_best_row_is_that_of_the_highest_development_score(
    first: float | None, second: float | None, chosen: list[str]
) -> None:
    rows = []
    for row, development in ((OURS, first), (OTHER, second)):
        results: dict[str, Any] = scores(0.7)
        for name, score in (("MR", development), ("STS14", None)):
            one: TaskResult = results[name]
            results[name] = replace(one, outcome=replace(one.outcome, dev_score=score))
        rows.append(scored(row, results))
    declared = experiment(OURS, OTHER, names=("MR", "development score"))
    table = small_table(*rows, declared=replace(declared, best_by="development score"))
    assert [lines[0].best_by for lines in lines_of(table)] == chosen
