"""The papers' figures: their averages come out, and tables that repeat one another agree."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean

import pytest

from models.config.training_presets import PRESETS
from models.frameworks.published import (
    LEARNT,
    MEAN_BINARY,
    MEAN_SIMILARITY,
    MEANS,
    ROWS,
    SIMILARITY,
    PublishedFigure,
    published_figure,
)

CORPORA = ("BookCorpus", "UMBC News", "Amazon Book Review")


@pytest.mark.parametrize("framework", ["B-G", "B-D", "C-linear"])
@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize("mean", [MEAN_SIMILARITY, MEAN_BINARY])
def test_the_papers_averages_are_those_of_their_figures(framework, corpus, mean):
    def figure(task: str, of: str = framework) -> float | None:
        found = published_figure(of, "ensemble", task, component_removed=True, corpus=corpus)
        return None if found is None else found.value

    figures = [figure(task) for task in MEANS[mean]]
    if None in figures:
        assert (framework, mean) == ("C-linear", MEAN_SIMILARITY) and corpus != "BookCorpus"
        return
    given = figure(mean, "B-G" if framework == "C-linear" else framework)
    assert fmean(figures) == pytest.approx(given, abs=0.11)  # the papers cut 88.66 to 88.6


def test_a_figure_that_stands_in_two_tables_is_the_same_in_both():
    found = defaultdict(set)
    for row in ROWS:
        for name, value in row.figures.items():
            key = (row.framework, row.part, row.corpus, row.component_removed, name)
            found[key].add(value)

    assert {key: values for key, values in found.items() if len(values) > 1} == {}


def test_the_linear_decoder_of_the_second_paper_is_the_first_ones_generative_framework():
    for task in (*SIMILARITY, *LEARNT):
        linear, generative = (
            published_figure(name, "ensemble", task, component_removed=True)
            for name in ("C-linear", "B-G")
        )
        assert linear.value == generative.value


def test_a_figure_comes_with_its_source():
    found = published_figure("C-bijective", "de", "STS14", component_removed=True)

    assert found == PublishedFigure(67.6, "C, table 3, Bijection+Linear z_de", "BookCorpus")


@pytest.mark.parametrize(
    ("framework", "part", "task", "removed"),
    [
        ("B-G", "en", "STS14", True),  # only its averages are published, of another corpus
        ("B-G", "ensemble", "MR", False),
        ("laptop", "ensemble", "MR", True),
        ("B-G", "ensemble", "TreeDepth", True),
    ],
)
def test_what_no_paper_gives_is_none(framework, part, task, removed):
    assert published_figure(framework, part, task, component_removed=removed) is None


def test_every_framework_is_a_preset_a_variant_of_one_or_word_vectors():
    names = {row.framework.split(",")[0] for row in ROWS}

    assert names - {"word vectors"} <= set(PRESETS)
