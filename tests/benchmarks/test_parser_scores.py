"""Two parsers on the same gold trees, by genre."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import parser_scores
from benchmarks.parser_scores import Compared, compare, count
from tests.support.constituency_trees import (
    tiny_model,
    toy_treebank,
    write_bracketed,
    write_documents,
)
from tests.support.dependency_examples import treebank, write_conllu
from treeviews.pipeline.base.bundled import parser_folder
from treeviews.pipeline.parsers.evaluate_parser import evaluate_parser
from treeviews.pipeline.parsers.parser_folder import save_model
from treeviews.pipeline.parsers.sentence_parser import load_parser
from treeviews.pipeline.trees.flat_trees import DependencyParse
from treeviews.pipeline.trees.treebanks import TreebankSentence

pytestmark = pytest.mark.usefixtures("machine_as_before")


def right(sentences: Sequence[TreebankSentence]) -> list[DependencyParse]:
    """Returns the gold trees as a parser's answers."""
    return [DependencyParse(one.heads, one.deprels) for one in sentences]


def wrong_once(sentences: Sequence[TreebankSentence]) -> list[DependencyParse]:
    """Returns the gold trees with a wrong label each."""
    return right([replace(one, deprels=["dep", *one.deprels[1:]]) for one in sentences])


def compared(sentences: list[TreebankSentence], new: list[Any], old: list[Any]) -> Compared:
    """Returns the comparison on all sentences."""
    counts = count(sentences, new), count(sentences, old)
    return compare(*counts, sentences, range(len(sentences)))


def test_the_same_answers_differ_by_nothing_and_better_ones_by_more_than_chance() -> None:
    sentences = treebank() * 5
    best = right(sentences)
    same = compared(sentences, best, best).difference
    assert same is not None and (same.value, same.low, same.high) == (0.0, 0.0, 0.0)
    better = compared(sentences, best, wrong_once(sentences)).difference
    assert better is not None and better.low > 0.0
    with pytest.raises(ValueError, match="no sentence"):
        compare(count(sentences, best), count(sentences, best), sentences, [])


def test_parsers_are_compared_by_genre(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sentences = treebank()
    genre = [replace(one, document_id=f"GUM_bio_{i}") for i, one in enumerate(sentences[:4])]
    gold = write_conllu([*genre, *sentences[4:]], tmp_path / "gold.conllu")
    assert parser_scores.main(["dependency", "dependency-large", str(gold)]) == 0
    printed = capsys.readouterr().out
    assert "-: fewer than 10 sentences, too few to tell" in printed
    found = json.loads(printed.splitlines()[-1])
    assert {name: one["num_sentences"] for name, one in found["genres"].items()} == {
        "bio": 4, "story": 4,
    }  # fmt: skip
    for column, name in (("new", "dependency"), ("old", "dependency-large")):
        parser = load_parser(parser_folder(name), "dependencies")
        expected = evaluate_parser(parser, sentences)["las"]
        assert found[column] == pytest.approx(expected)
        assert found["checksums"][column] == parser.checksum

    brackets = toy_treebank(12)
    save_model(tiny_model(brackets), tmp_path / "tiny")
    trees = write_bracketed(tmp_path / "gold.mrg", brackets)
    documents = write_documents(tmp_path / "gold.conllu", brackets)
    given = ["constituency", str(tmp_path / "tiny"), str(trees)]
    assert parser_scores.main([*given, "--documents", str(documents)]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    for column, name in (("new", "constituency"), ("old", tmp_path / "tiny")):
        parser = load_parser(parser_folder(name), "constituents")
        expected = evaluate_parser(parser, brackets)["evalb"]["f1"]
        assert found[column] == pytest.approx(expected)


def test_careless_text_is_scored_by_the_trees_that_are_left_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sentences = treebank()
    gold = write_conllu(sentences, tmp_path / "gold.conllu")
    given = ["dependency", "dependency", str(gold)]
    assert parser_scores.main([*given, "--careless"]) == 0
    printed = capsys.readouterr().out
    assert "in lower case and without final marks" in printed
    found = json.loads(printed.splitlines()[-1])
    left = [parser_scores.careless(sentence) for sentence in sentences]
    assert all("." not in one.tokens and one.tokens[0].islower() for one in left)
    assert found["num_tokens"] == sum(len(one.tokens) for one in left)
    parser = load_parser(parser_folder("dependency"), "dependencies")
    assert found["new"] == pytest.approx(evaluate_parser(parser, left)["las"])
