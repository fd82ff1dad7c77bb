"""The papers' figures: their averages come out, and tables that repeat one another agree."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from statistics import fmean

import pytest

from models.experiments.columns import MEAN_BINARY, MEAN_SIMILARITY, MEANS
from models.experiments.declaration import NotHere, Published
from models.experiments.papers.framework_rows import ALL_TASKS
from models.experiments.published import (
    PublishedRow,
    models_of_others,
    published_beside,
    published_rows,
    read_published,
)

CORPORA = ("BookCorpus", "UMBC News", "Amazon Book Review")
OF_FRAMEWORKS = [row for row in published_rows() if row.paper in {"B", "C"}]
HEADER = "source,model,part,corpus,component"


def figures(model: str, part: str = "ensemble", component: str = "removed") -> dict[str, dict]:
    """Returns the figures of a framework by corpus."""
    found = published_beside(Published(model, part, component), rows=OF_FRAMEWORKS)
    return {row.corpus: dict(row.figures) for row in found}


@pytest.mark.parametrize("framework", ["B-G", "B-D", "C-linear"])
@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize("mean", [MEAN_SIMILARITY, MEAN_BINARY])
def test_the_papers_averages_are_those_of_their_figures(framework, corpus, mean):
    own = figures(framework)[corpus]
    given = figures("B-G" if framework == "C-linear" else framework)[corpus][mean]

    # The papers cut 88.66 to 88.6.
    assert fmean(own[task] for task in MEANS[mean]) == pytest.approx(given, abs=0.11)


def test_a_figure_that_stands_in_two_tables_is_the_same_in_both():
    found = defaultdict(set)
    for row in OF_FRAMEWORKS:
        for name, value in row.figures.items():
            found[row.model, row.part, row.corpus, row.component, name].add(value)

    other = {key for key, values in found.items() if len(values) > 1}
    # B gives the hours of D2 as 8.5 in table 5 and as 8 in table 6; C those of its linear decoder.
    assert {key[-1] for key in other} <= {"hours"}


def test_the_linear_decoder_of_the_second_paper_is_the_first_ones_generative_framework():
    linear, generative = figures("C-linear")["BookCorpus"], figures("B-G")["BookCorpus"]

    assert {task: linear[task] for task in ALL_TASKS} == {t: generative[t] for t in ALL_TASKS}


def test_figures_of_several_tables_stand_on_one_line_a_corpus_with_their_sources():
    found = published_beside(Published("B-D", "ensemble", "removed"), ("B, table 3", "B, table 5"))

    assert [row.corpus for row in found] == list(CORPORA)
    assert found[0].source == "B, table 3, D1; B, table 5, D1"
    assert (found[0].figures["STS14"], found[0].figures["MRPC F1"]) == (71.5, 83.4)


@pytest.mark.parametrize(
    ("model", "part", "component"),
    [("B-G", "en", "kept"), ("laptop", "ensemble", "removed"), ("C-linear", "ensemble", "kept")],
)
def test_what_no_paper_gives_is_nothing(model, part, component):
    assert published_beside(Published(model, part, component), rows=OF_FRAMEWORKS) == []


def test_models_of_others_are_rows_that_are_not_here():
    (row,) = models_of_others(("B, table 5",), {"InferSent": "trained with labels"})

    assert row.encoder == NotHere("trained with labels")
    assert row.published == Published("InferSent")
    with pytest.raises(ValueError, match="B, table 5: no published figures of Nobody"):
        models_of_others(("B, table 5",), {"Nobody": ""})


def test_a_file_of_figures_is_read(tmp_path: Path) -> None:
    path = tmp_path / "paper.csv"
    path.write_text(f'{HEADER},MR,SICK-R MSE,hours\n"D, table 1, X",X,,,,80.1,,3\n', "utf-8")

    assert read_published(path) == [
        PublishedRow("D, table 1, X", "X", "", "", "", {"MR": 80.1, "hours": 3.0})
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("source,model\n", "lacks the columns part, corpus, component"),
        (f"{HEADER},MRR\n", "no column is named 'MRR'"),
        (f'{HEADER},MR\n"D, table 1, X",X,,,,many\n', "line 2: could not convert"),
    ],
)
def test_a_file_that_holds_something_else_is_refused(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "paper.csv"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(ValueError, match=said) as caught:
        read_published(path)
    assert str(path) in str(caught.value)
