"""The parsing benchmark over tiny parsers with random weights; no times are judged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import parsing
from benchmarks.parsing_contestants import (
    EXACT,
    FAST,
    PARSE_SENTS,
    SUPAR,
)
from benchmarks.parsing_input import ParsingInput, treebank_input
from benchmarks.parsing_rate import Measured
from benchmarks.parsing_tables import Results
from benchmarks.stopwatch import Spent
from tests.support.constituency_trees import tiny_model, toy_treebank
from tests.support.dependency_examples import treebank, write_conllu
from treeviews.pipeline.parsers.chart_model import save_constituency_model
from treeviews.pipeline.parsers.dependency_model import (
    DependencyModel,
    DependencyVocabulary,
    NetworkSizes,
    build_network,
    save_dependency_model,
)
from treeviews.pipeline.trees.flat_trees import DependencyParse
from treeviews.pipeline.trees.treebanks import TreebankSentence

FIGURES = {
    *("dep_exact_vs_supar", "dep_fast_vs_supar", "dep_identical", "dep_fast_las_loss"),
    *("const_vs_parse_sents", "const_vs_bucketed", "const_identical"),
}
RIGHT = DependencyParse(heads=[2, 0], deprels=["nsubj", "root"])
WRONG = DependencyParse(heads=[2, 0], deprels=["obj", "root"])


@pytest.fixture(scope="module")
def parsers(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("parsers")
    vocabulary = DependencyVocabulary.build(treebank(), min_word_frequency=1)
    sizes = NetworkSizes(
        word_embedding=12,
        character_embedding=6,
        character_hidden=8,
        character_features=10,
        lstm_hidden=16,
        lstm_layers=2,
        arc_mlp=14,
        relation_mlp=9,
    )
    network = build_network(sizes, vocabulary).eval()
    save_dependency_model(DependencyModel(network, sizes, vocabulary), folder / "dependency")
    save_constituency_model(folder / "constituency", tiny_model(toy_treebank(60)))
    return str(folder / "dependency"), str(folder / "constituency")


@pytest.mark.slow
def test_the_last_line_has_every_figure(
    parsers: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = write_conllu(treebank(), tmp_path / "text.conllu")
    arguments = ("--conllu", str(text), "--sentences", "6", "--parsers", *parsers)
    assert parsing.main((*arguments, "--rounds", "1")) == 0
    lines = capsys.readouterr().out.splitlines()
    figures = json.loads(lines[-1])
    assert set(figures) == FIGURES | {"las_measured_against", "sentences"}
    assert (figures["las_measured_against"], figures["sentences"]) == ("treebank", 6)
    assert figures["dep_identical"] == figures["const_identical"] == 1
    assert sum(line.startswith("## ") for line in lines) == 1


def results(text: ParsingInput, *, fast: DependencyParse) -> Results:
    def measured(label: str, seconds: float, tree: object = RIGHT) -> Measured:
        spent = Spent(wall=100.0, cpu=seconds)
        return Measured(label, 1, times=[spent.times(3), spent], trees=[tree])

    return Results(
        text=text,
        fast_is_exact=False,
        dependency={
            SUPAR: measured(SUPAR, 6),
            EXACT: measured(EXACT, 2),
            FAST: measured(FAST, 1, fast),
        },
        constituency={
            "benepar, buckets of 5": measured("benepar, buckets of 5", 4),
            "benepar, buckets of 9": measured("benepar, buckets of 9", 3),
            EXACT: measured(EXACT, 1),
            PARSE_SENTS: measured(PARSE_SENTS, 30, WRONG),
        },
    )


@pytest.mark.parametrize(("gold", "loss"), [([RIGHT], 50.0), ([WRONG], -50.0), (None, 50.0)])
def test_ratios_are_of_the_best_rounds_and_the_loss_is_of_the_right_trees(
    gold: list[DependencyParse] | None, loss: float
) -> None:
    tokens = [["Dogs", "bark"]]
    figures = results(ParsingInput("text", tokens, tokens, gold), fast=WRONG).figures()
    assert figures["dep_exact_vs_supar"] == 3
    assert figures["dep_fast_vs_supar"] == 6
    assert figures["const_vs_bucketed"] == 3
    assert figures["const_vs_parse_sents"] == 30
    assert figures["dep_identical"] == 1
    assert figures["const_identical"] == 0  # one of the two that are compared differs
    assert figures["dep_fast_las_loss"] == loss


def test_a_treebank_gives_its_trees_and_what_no_contestant_could_take_is_left_out(
    tmp_path: Path,
) -> None:
    odd = TreebankSentence("odd", ["New York", "sleeps"], [2, 0], ["nsubj", "root"])
    path = write_conllu([odd, *treebank()], tmp_path / "text.conllu")
    found = treebank_input([path], 6)
    assert [list(tokens) for tokens in found.sentences] == [s.tokens for s in treebank()[:6]]
    assert found.gold is not None
    assert found.gold[0].heads == treebank()[0].heads
    rest = [*treebank()[6:], *treebank()[:6]]
    assert [list(tokens) for tokens in found.warm_up] == [s.tokens for s in rest]
    with pytest.raises(ValueError, match="there are only 8; lower --sentences"):
        treebank_input([path], 9)
