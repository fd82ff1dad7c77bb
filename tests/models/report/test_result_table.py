"""A table from results made by hand: our figures, the papers' beside them; its files and text."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.evaluation_examples import answers, result, similarities, task
from treeviews.models.encoding.encoder_names import BAG_OF_WORDS
from treeviews.models.evaluation.task_result import (
    AbsentResult,
    EncoderIdentity,
    Result,
    TaskResult,
)
from treeviews.models.report.experiment import NOT_HERE, Experiment, Row, Training
from treeviews.models.report.figures import Figure
from treeviews.models.report.measured_table import ScoredRow, assemble_table
from treeviews.models.report.result_table import (
    ABSENT,
    CSV_HEADER,
    Heading,
    Line,
    ResultTable,
    figure_text,
    headline,
    read_table,
    scores_table,
    table_files,
    tables_files,
)
from treeviews.models.report.table_columns import MEAN_SIMILARITY, MEANS, Published, columns

SUMMARY: dict[str, Any] = {
    "views": ["SEQ"],
    "objective": "generative",
    "num_parameters": 1_234_567,
    "train_sentences": 74_000,
    "coverage": {"exact": 900, "lower_cased": 50, "unknown": 50, "known_share": 0.95},
    "epochs": 1,
    "steps": 1_500,
    "seconds": 90.0,
    "held_out": {"final": {"accuracy": 0.75, "chance": 0.5, "num_sentences": 100}},
}
GENERATIVE = Training("B-G", "B-G")
OURS = Row(
    "B-G",
    "trained",
    (GENERATIVE,),
    taken="ensemble",
    published=Published("B-G", "ensemble", "removed"),
)
MEAN = Row("word vectors", BAG_OF_WORDS, taken="mean")
BOOKS = {"B": {"BookCorpus": "BookCorpus; 74 M sentences"}}


def scores(share: float, *, seed: int = 0, noise: float = 0.5, data: str = "d0") -> dict[str, Any]:
    """Returns results on MR and STS14 of one seed, this share of MR right."""
    encoder = EncoderIdentity("encoder", f"digest-{share}-{noise}-{seed}", seed)
    made = (
        result(answers(200, share, seed=seed), task("MR"), encoder=encoder, data_digest=data),
        result(similarities(200, noise, seed=seed), task("STS14", "similarity"), encoder=encoder),
    )
    return {one.task.name: one for one in made}


def without(results: Mapping[str, Result], name: str, reason: str) -> dict[str, Result]:
    """Returns results of which one is absent."""
    absent = AbsentResult(results[name].task, results[name].setup, reason)
    return {**results, name: absent}


def experiment(*rows: Row, names: tuple[str, ...] = ("STS14", "MR", "hours")) -> Experiment:
    """Returns the declaration of a small table of B's."""
    return Experiment("small", "A small table", ("B, table 3",), rows, columns(*names), BOOKS)


def small_table(*rows: ScoredRow, declared: Experiment | None = None, **given: Any) -> ResultTable:
    """Returns the table of rows that were scored."""
    of = declared or experiment(*(row.row for row in rows))
    return assemble_table(of, rows, {"B-G": [SUMMARY]}, **given)


def scored(row: Row = OURS, *seeds: Mapping[str, Result], **given: Any) -> ScoredRow:
    """Returns a row with its results."""
    summaries = tuple((SUMMARY,) for _ in seeds if row.is_trained)
    return ScoredRow(row, seeds, **({"scale": "stories", "summaries": summaries} | given))


def cell(table: ResultTable, column: str, *, row: int = 0, line: int = 0) -> Figure:
    place = [heading.name for heading in table.columns].index(column)
    return lines_of(table)[row][line].cells[place]


def lines_of(table: ResultTable) -> list[list[Line]]:
    """Returns the lines of each row."""
    rows: dict[str, list[Line]] = {}
    for line in table.lines:
        rows.setdefault(line.full_title, []).append(line)
    return list(rows.values())


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


@pytest.fixture(scope="module")
def table() -> ResultTable:
    other = Row(
        "InferSent", NOT_HERE, group="others", published=Published("InferSent"), reason="labels"
    )
    ours = replace(OURS, group="frameworks")
    mean = replace(MEAN, group="frameworks")
    return small_table(
        scored(ours, scores(0.9), scores(0.9, seed=1)),
        scored(mean, without(scores(0.6), "STS14", "no such file")),
        declared=experiment(ours, mean, other),
    )


def test_a_table_is_read_as_it_was_written(table: ResultTable, tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    path.write_text(json.dumps(asdict(table)))
    assert read_table(path) == table

    path.write_text('{"name": "a"}')
    with pytest.raises(ValueError, match=r"table\.json: damaged, see title; delete it"):
        read_table(path)


HOURS = Heading("hours", 2, is_fact=True)


@pytest.mark.parametrize(
    ("cell", "heading", "measured", "text"),
    [
        (Figure(85.04, 0.31, 3), Heading("MR"), True, "85.0 ± 0.3 (3)"),
        (Figure(80.0, None, 1, 75.04, 84.96), Heading("MR"), True, "80.0 [75.0, 85.0]"),
        (Figure(reason="no data"), Heading("MR"), True, "absent"),
        (Figure(), Heading("MR"), True, "–"),
        (Figure(9.0), HOURS, False, "9"),
        (Figure(0.0013, None, 1), HOURS, True, "0.0013"),
    ],
)
def test_a_figure_says_how_sure_it_is(
    cell: Figure, heading: Heading, measured: bool, text: str
) -> None:
    assert figure_text(cell, heading, measured=measured) == text


def test_a_table_says_its_result_first_and_counts_what_it_shows(table: ResultTable) -> None:
    assert headline(table) == ["A small table: 2 of 3 rows measured here, 3 scores, 1 absent."]
    assert sum(list(row).count(ABSENT) for row in scores_table(table).rows) == 1
    nothing = small_table(declared=experiment(Row("other", NOT_HERE, reason="no second text")))
    assert headline(nothing) == ["A small table: 0 of 1 row measured here, 0 scores, 2 absent."]


def test_csv_has_a_line_a_figure(table: ResultTable) -> None:
    text = tables_files("All", [table, table])["csv"]
    lines = list(csv.DictReader(io.StringIO(text)))

    assert tuple(lines[0]) == CSV_HEADER and len(lines) % 2 == 0
    mr = next(line for line in lines if (line["model"], line["column"]) == ("B-G", "MR"))
    assert (mr["measured"], mr["num_seeds"], mr["scale"]) == ("True", "2", "stories")
    g1 = next(line for line in lines if line["source"] == "B, table 3, G1")
    assert (g1["measured"], g1["column"], g1["value"]) == ("False", "STS14", "71.1")
    absent = next(line for line in lines if line["reason"])
    assert (absent["model"], absent["column"], absent["value"]) == ("word vectors", "STS14", "")


def test_latex_has_the_rules_of_booktabs(table: ResultTable) -> None:
    lines = table_files(table)["tex"].splitlines()
    columns = next(re.findall(r"\{@\{\}([lr]+)@", line)[0] for line in lines if "tabular" in line)
    rows = [line for line in lines if line.endswith(r"\\") and not line.startswith("\\")]
    assert {len(re.findall(r"(?<!\\)&", row)) + 1 for row in rows} == {len(columns)}
    assert any(r"90.0 $\pm$ 0.0 (2)" in row for row in rows)
