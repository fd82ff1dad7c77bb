"""Two parsers on the same gold trees, by genre."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import parser_scores
from benchmarks.parser_scores import GENRE, compare, count, genres
from pipeline.base.refusal import Refusal
from pipeline.parsers.constituency.model import save_constituency_model
from pipeline.trees.parses import DependencyParse
from pipeline.trees.treebanks import TreebankSentence
from tests.support.constituency_trees import (
    tiny_model,
    toy_treebank,
    write_bracketed,
    write_documents,
)
from tests.support.dependency_examples import treebank, write_conllu

REFUSED = Refusal("too_long")


def right(sentences: list[TreebankSentence]) -> list[DependencyParse]:
    """Returns the gold trees as a parser's answers."""
    return [DependencyParse(one.heads, one.deprels) for one in sentences]


def test_scores_count_tokens_whatever_their_sentence() -> None:
    sentences = treebank()[:2]
    sizes = [len(one.tokens) for one in sentences]
    wrong_label = replace(sentences[0], deprels=["dep", *sentences[0].deprels[1:]])
    new, old = right(sentences), [*right([wrong_label]), REFUSED]
    found = compare(count(sentences, new), count(sentences, old), [0, 1])
    assert found.new == 100.0
    assert found.old == pytest.approx(100.0 * (sizes[0] - 1) / sum(sizes))
    assert found.difference.low <= found.difference.value <= found.difference.high


def test_the_same_answers_differ_by_nothing_and_better_ones_by_more_than_chance() -> None:
    sentences = treebank() * 5
    best = count(sentences, right(sentences))
    everywhere = list(range(len(sentences)))
    same = compare(best, best, everywhere).difference
    assert (same.value, same.low, same.high) == (0.0, 0.0, 0.0)
    worse = [replace(one, deprels=["dep", *one.deprels[1:]]) for one in sentences]
    assert compare(best, count(sentences, right(worse)), everywhere).difference.low > 0.0
    with pytest.raises(ValueError, match="no sentence"):
        compare(best, best, [])


def test_genres_are_read_from_the_ids_of_documents() -> None:
    ids = ["GUM_news_nasa", "weblog-x.com_1", "GUM_bio_a", "GUM_news_b", "", "17"]
    sentences = [replace(treebank()[0], document_id=one) for one in ids]
    assert genres(sentences, GENRE) == {"bio": [2], "news": [0, 3], "other": [4, 5], "weblog": [1]}
    with pytest.raises(ValueError, match="in parentheses"):
        genres(sentences, "GUM")
    with pytest.raises(ValueError, match="give a regular expression"):
        genres(sentences, "(")


def last_line(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, float]]:
    """Returns the figures that a program would read."""
    figures: dict[str, dict[str, float]] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return figures


def test_dependency_parsers_by_genre(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sentences = treebank()
    half = [replace(one, document_id=f"GUM_bio_{i}") for i, one in enumerate(sentences[:4])]
    gold = write_conllu([*half, *sentences[4:]], tmp_path / "gold.conllu")
    assert parser_scores.main(["dependency", "dependency", str(gold)]) == 0
    found = last_line(capsys)
    assert {name: one["sentences"] for name, one in found.items()} == {
        "all": 8, "bio": 4, "story": 4,
    }  # fmt: skip
    assert found["all"]["new"] == found["all"]["old"] > 50.0


def test_constituency_parsers_by_genre(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sentences = toy_treebank(6)
    save_constituency_model(tmp_path / "tiny", tiny_model(sentences))
    trees = write_bracketed(tmp_path / "gold.mrg", sentences)
    documents = write_documents(tmp_path / "gold.conllu", sentences)
    given = ["constituency-small", str(tmp_path / "tiny"), str(trees)]
    assert parser_scores.main([*given, "--documents", str(documents)]) == 0
    found = last_line(capsys)
    assert {name: one["sentences"] for name, one in found.items()} == {"all": 6, "doc": 6}
    assert found["all"]["new"] > found["all"]["old"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["dependency", "constituency", "{gold}"], "one for dependencies is needed"),
        (["dependency", "dependency", "{gold}", "--exclude", "story"], "no sentence"),
        (["dependency", "dependency", "{gold}", "--documents", "{gold}"], "--documents is for"),
        (["dependency", "dependency", "{gold}", "--sentences", "0"], "--sentences must be"),
        (["constituency", "constituency", "a", "b", "--documents", "c"], "one file for each"),
        (["dependency", "dependency", "{gold}", "--genre", "x"], "in parentheses"),
        (["dependency", "dependency", "none.conllu"], "none.conllu"),
    ],
)
def test_mistakes_are_told(
    given: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gold = write_conllu(treebank(), tmp_path / "gold.conllu")
    assert parser_scores.main([part.format(gold=gold) for part in given]) in {2, 3}
    assert told in capsys.readouterr().err
