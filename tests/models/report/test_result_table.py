"""A table as a file, as text, CSV and LaTeX, and what it says first."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tests.support.scored_tables import MEAN, OURS, experiment, scored, scores, small_table, without
from treeviews.models.report.experiment import NOT_HERE, Row
from treeviews.models.report.figures import Figure
from treeviews.models.report.result_table import (
    ABSENT,
    CSV_HEADER,
    Heading,
    ResultTable,
    figure_text,
    headline,
    read_table,
    scores_table,
    table_files,
    tables_files,
)
from treeviews.models.report.table_columns import Published


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
        (Figure(71.1), Heading("MR"), False, "71.1"),
        (Figure(9.0), HOURS, False, "9"),
        (Figure(3.5), HOURS, False, "3.5"),
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
