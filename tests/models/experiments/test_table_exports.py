"""A table as Markdown, CSV and LaTeX: its structure, and that text stays text."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace

import pytest

from models.experiments.declaration import NotHere, Published, Row
from models.experiments.exports.csv_lines import HEADER, csv_lines
from models.experiments.exports.grid import ABSENT, amount, figure, grid
from models.experiments.exports.latex import escaped_latex, latex
from models.experiments.exports.outcome import headline
from models.experiments.exports.page import table_page, tables_page
from models.experiments.result_table import Cell, Heading, ResultTable
from models.report.html.page import html_page
from models.report.markdown import markdown_page
from tests.support.scored_tables import (
    MEAN,
    OUR_SCALE,
    OURS,
    experiment,
    scored,
    scores,
    small_table,
    without,
)

HOSTILE = r"a & b_%$#{x}\input{secret} <script>| ~^ [" + "\u202e\x1b"


@pytest.fixture(scope="module")
def table() -> ResultTable:
    other = Row("InferSent", NotHere("labels"), group="others", published=Published("InferSent"))
    ours = replace(OURS, group="frameworks")
    mean = replace(MEAN, group="frameworks")
    return small_table(
        scored(ours, scores(0.9), scores(0.9, seed=1)),
        scored(mean, without(scores(0.6), "STS14", "no such file")),
        declared=experiment(ours, mean, other),
    )


def hostile() -> ResultTable:
    row = replace(OURS, title=HOSTILE)
    return small_table(scored(row, scores(0.8), scale=replace(OUR_SCALE, corpus=HOSTILE)))


@pytest.mark.parametrize(
    ("value", "said"),
    [(None, "–"), (9_399, "9,399"), (144_900, "144.9 k"), (74e6, "74 M"), (3362.5e6, "3,362.5 M")],
)
def test_amounts_are_short_where_they_are_large(value: float | None, said: str) -> None:
    assert amount(value) == said


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (Cell(85.04, 0.31, 3), "85.0 ± 0.3 (3)"),
        (Cell(80.0, None, 1, 75.04, 84.96), "80.0 [75.0, 85.0]"),
        (Cell(reason="no data"), "absent"),
        (Cell(), "–"),
    ],
)
def test_a_figure_says_how_sure_it_is(cell: Cell, said: str) -> None:
    assert figure(cell, Heading("MR")) == said


def test_a_published_figure_stands_as_printed() -> None:
    assert figure(Cell(71.1), Heading("MR"), measured=False) == "71.1"
    assert figure(Cell(9.0), Heading("hours", 2, is_fact=True), measured=False) == "9"
    assert figure(Cell(3.5), Heading("hours", 2, is_fact=True), measured=False) == "3.5"


def test_hours_of_seconds_are_not_rounded_to_none() -> None:
    assert figure(Cell(0.0013, None, 1), Heading("hours", 2, is_fact=True)) == "0.0013"


def test_scores_stand_beside_the_model_and_the_scale_of_ours_and_theirs_last(
    table: ResultTable,
) -> None:
    found = grid(table)
    assert found.header == (
        *("model", "figures from", "STS14", "MR", "hours"),
        *("corpus", "vectors", "sentences", "words", "width", "epochs"),
    )
    assert found.further_text == (5, 6)
    ours, theirs = found.rows[1].cells, found.rows[2].cells
    assert ours[1] == "here"
    assert ours[5:] == ("stories", "of the corpus, 100 wide", "74,000", "1,000", "64", "1")
    assert theirs[:2] == ("", "B, table 3, G1")
    assert theirs[5:] == ("BookCorpus", "fastText, 300 wide", "74 M", "962 M", "2,048", "–")
    assert [row.heading for row in found.rows if row.heading] == ["frameworks", "others"]
    assert found.rows[-1].cells[0] == "InferSent, not here: labels"


def test_a_table_says_its_result_first_and_counts_what_it_shows(table: ResultTable) -> None:
    first, second = headline(table)
    assert first.startswith("A small table, STS14: best of 1 trained row is “B-G, ensemble” with ")
    assert second == "2 of 3 rows measured here, 3 scores, 1 absent."
    assert sum(row.cells.count(ABSENT) for row in grid(table).rows) == 1
    nothing = small_table(declared=experiment(Row("other", NotHere("no second text"))))
    assert headline(nothing) == [
        "A small table: no score was measured here (the notes say why).",
        "0 of 1 row measured here, 0 scores, 2 absent.",
    ]


def test_markdown_has_a_row_a_line_and_the_notes(table: ResultTable) -> None:
    text = markdown_page(table_page(table))
    assert "| B-G, ensemble | here | " in text
    assert "- STS14: absent (no such file), for word vectors, mean\n" in text
    assert "## Trainings" in text
    widths = {len(re.findall(r"(?<!\\)\|", line)) for line in text.split("\n") if line[:1] == "|"}
    assert len(widths) <= 2, "all lines of a table have its columns"


def test_each_table_of_a_page_is_a_section(table: ResultTable) -> None:
    page = tables_page("All", [table, replace(table, title="Another")])

    headings = [line for line in markdown_page(page).splitlines() if line.startswith("#")]
    assert headings == ["# All", "## A small table", "## Another"]
    assert page.headline == ["6 scores measured here in 2 of 2 tables, 2 absent."]


def test_a_page_sets_headings_over_groups(table: ResultTable) -> None:
    page = html_page(table_page(table))
    assert 'class="group">frameworks</th>' in page and 'class="group">others</th>' in page
    assert "<script" not in html_page(table_page(hostile()))


def test_markup_stays_text_in_markdown() -> None:
    text = markdown_page(table_page(hostile()))

    assert "<script>" not in text and "\u202e" not in text and "\x1b" not in text
    assert r"\<script>" in text or "&lt;script" in text


def test_csv_has_a_line_a_figure(table: ResultTable) -> None:
    lines = list(csv.DictReader(io.StringIO(csv_lines([table, table]))))

    assert tuple(lines[0]) == HEADER and len(lines) % 2 == 0
    mr = next(line for line in lines if (line["model"], line["column"]) == ("B-G", "MR"))
    assert (mr["measured"], mr["num_seeds"]) == ("True", "2")
    assert float(mr["value"]) == 90.0 and float(mr["sentences"]) == 74_000
    g1 = next(line for line in lines if line["source"] == "B, table 3, G1")
    assert (g1["measured"], g1["column"], g1["value"]) == ("False", "STS14", "71.1")
    absent = next(line for line in lines if line["reason"])
    assert (absent["model"], absent["column"], absent["value"]) == ("word vectors", "STS14", "")


def test_latex_has_the_rules_of_booktabs(table: ResultTable) -> None:
    text = latex(table)
    lines = [line for line in text.splitlines() if not line.startswith("%")]

    assert lines[0] == r"\begin{table*}" and lines[-1] == r"\end{table*}"
    rules = [line for line in lines if line in {r"\toprule", r"\midrule", r"\bottomrule"}]
    assert rules == [r"\toprule", r"\midrule", r"\midrule", r"\bottomrule"]
    columns = re.search(r"\\begin\{tabular\}\{@\{\}([lr]+)@\{\}\}", text)
    assert columns is not None
    rows = [line for line in lines if line.endswith(r"\\") and not line.startswith("\\")]
    assert {len(re.findall(r"(?<!\\)&", row)) + 1 for row in rows} == {len(columns[1])}
    assert r"\multicolumn{11}{@{}l}{\textit{frameworks}} \\" in lines
    assert r"90.0 $\pm$ 0.0 (2)" in text
    assert r"\label{tab:small}" in text and r"\caption{A small table.}" in text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a & b_c", r"a \& b\_c"),
        (r"\input{x}", r"\textbackslash{}input\{x\}"),
        ("100 % of $5 #1", r"100 \% of \$5 \#1"),
        ("~^|<>", r"\textasciitilde{}\textasciicircum{}\textbar{}\textless{}\textgreater{}"),
        ("[1, 2]", "{}[1, 2]"),
        ("80.0 ± 0.3", r"80.0 $\pm$ 0.3"),
        ("a − b – é", r"a $-$ b -- é"),
        ("two\nlines", "two lines"),
        ('say "so"', "say ''so''"),
        ("\x1b[1m", r"\textbackslash{}x1b[1m"),
    ],
)
def test_text_stays_text_in_latex(text: str, said: str) -> None:
    assert escaped_latex(text) == said


def test_nothing_that_a_corpus_is_called_becomes_a_command() -> None:
    text = latex(hostile())

    assert "\u202e" not in text
    body = text.split(r"\midrule")[1]
    assert r"\input" not in body
    assert not re.search(r"(?<!\\)[%#]", body)


def test_a_note_of_several_lines_stays_a_comment() -> None:
    table = replace(hostile(), notes=("one\n\\input{x}",))

    assert latex(table).splitlines()[1] == "% one \\input{x}"
