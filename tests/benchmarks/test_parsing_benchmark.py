"""The parsing benchmark over tiny parsers with random weights; no times are judged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import parsing
from benchmarks.parsing import Results
from benchmarks.parsing_input import ParsingInput
from benchmarks.parsing_rate import EXACT, FAST, PARSE_SENTS, SUPAR, Parsed
from benchmarks.references.supar_predict import predict, supar_parser
from benchmarks.stopwatch import Spent
from tests.support.constituency_trees import tiny_model, toy_treebank
from tests.support.dependency_examples import treebank, write_conllu
from treeviews.pipeline.base.bundled import BUNDLED_PARSERS
from treeviews.pipeline.parsers.dependency_model import (
    DependencyDescription,
    DependencyVocabulary,
    NetworkSizes,
    build_network,
    load_dependency_model,
)
from treeviews.pipeline.parsers.parser_folder import ParserModel, save_model
from treeviews.pipeline.parsers.sentence_parser import load_parser
from treeviews.pipeline.trees.flat_trees import DependencyParse

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
    sizes = NetworkSizes(lstm_hidden=16, lstm_layers=2)
    description = DependencyDescription(sizes=sizes, vocabulary=vocabulary)
    save_model(ParserModel(build_network(description), description), folder / "dependency")
    save_model(tiny_model(toy_treebank(60)), folder / "constituency")
    return str(folder / "dependency"), str(folder / "constituency")


@pytest.mark.slow
def test_the_last_line_has_every_figure(
    parsers: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = write_conllu(treebank(), tmp_path / "text.conllu")
    arguments = ("--conllu", str(text), "--sentences", "6", "--parsers", *parsers)
    assert parsing.main((*arguments, "--rounds", "1", "--bucket-tokens", "300")) == 0
    lines = capsys.readouterr().out.splitlines()
    figures = json.loads(lines[-1])
    assert set(figures) == FIGURES | {"las_measured_against", "sentences"}
    assert (figures["las_measured_against"], figures["sentences"]) == ("treebank", 6)
    assert figures["dep_identical"] == figures["const_identical"] == 1
    assert sum(line.startswith("## ") for line in lines) == 1


@pytest.mark.parametrize(("gold", "loss"), [([RIGHT], 50.0), ([WRONG], -50.0), (None, 50.0)])
def test_ratios_are_of_the_best_rounds_and_the_loss_is_of_the_right_trees(
    gold: list[DependencyParse] | None, loss: float
) -> None:
    def measured(seconds: float, tree: DependencyParse = RIGHT) -> Parsed:
        spent = Spent(wall=100.0, cpu=seconds)
        return Parsed("one", 1, times=[spent.times(3), spent], trees=[tree])

    dependency = {SUPAR: measured(6), EXACT: measured(2), FAST: measured(1, WRONG)}
    buckets = {
        f"benepar, buckets of {size}": measured(seconds) for size, seconds in ((5, 4), (9, 3))
    }
    constituency = {**buckets, EXACT: measured(1), PARSE_SENTS: measured(30, WRONG)}
    tokens = [["Dogs", "bark"]]
    text = ParsingInput("text", tokens, tokens, gold)
    figures = Results(text, dependency, constituency, fast_is_exact=False).figures()
    speeds = [figures[name] for name in ("dep_exact_vs_supar", "dep_fast_vs_supar")]
    assert [*speeds, figures["const_vs_bucketed"], figures["const_vs_parse_sents"]] == [3, 6, 3, 30]
    assert (figures["dep_identical"], figures["const_identical"]) == (1, 0)  # one of two differs
    assert figures["dep_fast_las_loss"] == loss


SENTENCES = [
    ["The", "old", "gardener", "watered", "the", "red", "roses", "."],
    ["Zyzzyva", "internationalization-friendly-identifiers", "<b>", "§"],
    ["Go", "!"],
]


def test_supar_with_our_weights_answers_as_our_parser() -> None:
    bundled = BUNDLED_PARSERS["dependencies"]
    found = predict(supar_parser(load_dependency_model(bundled)), SENTENCES)
    assert found == load_parser(bundled, "dependencies").parse(SENTENCES)
