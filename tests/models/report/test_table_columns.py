"""Columns are known by their names; the papers' figures agree with one another."""

from __future__ import annotations

from pathlib import Path

import pytest

from treeviews.models.report.table_columns import (
    MEAN_BINARY,
    Published,
    PublishedRow,
    chosen_columns,
    column_named,
    columns,
    published_beside,
    published_rows,
)

DECLARED = columns("STS14", "MR", "MRPC", "MRPC F1", MEAN_BINARY, "hours")
CORPORA = ("BookCorpus", "UMBC News", "Amazon Book Review")


@pytest.mark.parametrize(
    ("name", "score", "times"),
    [
        ("MR", "accuracy", 1.0),
        ("MRPC F1", "f1", 1.0),
        ("SICK-R MSE", "mse", 100.0),
        ("STS14 spearman_all", "spearman_all", 1.0),
    ],
)
def test_a_task_and_its_score(name: str, score: str, times: float) -> None:
    column = column_named(name)
    assert (column.name, column.score, column.times) == (name, score, times)
    assert column.tasks == (name.split(maxsplit=1)[0],)


@pytest.mark.parametrize(
    ("tasks", "derived", "names"),
    [
        ("", False, ["STS14", "MR", "MRPC", "MRPC F1", MEAN_BINARY, "hours"]),
        ("MRPC,TREC", False, ["MRPC", "MRPC F1", "hours", "TREC"]),
        ("MR,CR", False, ["MR", "hours", "CR"]),
        ("MR,SentLen", True, ["MR", "hours", "SentLen (derived)"]),
    ],
)
def test_tasks_restrict_the_columns_and_add_their_own(
    tasks: str, derived: bool, names: list[str]
) -> None:
    chosen = chosen_columns(DECLARED, tasks, derived=derived)
    assert [column.name for column in chosen] == names


def test_what_is_no_column_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no column is named 'dimension'; did you mean dimensions"):
        column_named("dimension")
    (tmp_path / "own.csv").write_text("source,model,part,corpus,component,not_here,MRR\n,,,,,,1\n")
    with pytest.raises(ValueError, match=r"own\.csv.*no column is named 'MRR'"):
        published_rows(tmp_path)


# The papers' figures.


def row_of(model: str, table: str, corpus: str = "UMBC 40M", part: str = "") -> PublishedRow:
    (row,) = (
        row
        for row in published_rows()
        if row.stands_in([table])
        and (row.key.model, row.corpus, row.key.part) == (model, corpus, part)
    )
    return row


def test_figures_of_several_tables_stand_on_one_line_a_corpus_with_their_sources() -> None:
    lines = published_beside(Published("B-D", "ensemble", "removed"), ("B, table 3", "B, table 5"))
    assert [row.corpus for row in lines] == list(CORPORA)
    assert lines[0].source == "B, table 3, D1; B, table 5, D1"
    assert (lines[0].figures["STS14"], lines[0].figures["MRPC F1"]) == (71.5, 83.4)
    assert published_beside(Published("B-G", "en", "kept")) == []


def test_an_average_is_printed_or_computed_or_none() -> None:
    column = column_named("avg7")
    printed, whole = row_of("DEP,CONST", "A, table 2"), row_of("DEP,CONST", "A, table 1")
    part = row_of("Skip-thought + LN", "A, table 1", "BookCorpus")

    assert printed.figure(column) == 86.0
    assert whole.figure(column) == pytest.approx(86.0, abs=0.01)
    assert part.figure(column) is None
