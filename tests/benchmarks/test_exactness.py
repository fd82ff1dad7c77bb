"""The comparison of exact trees sought in reduced precision first with those of float32."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from benchmarks import exactness
from benchmarks.exactness import compare
from benchmarks.report import LackingError
from pipeline.base.bundled import BUNDLED_PARSERS
from pipeline.parsers.adapters.base import MAX_TOKENS, Sentence
from pipeline.parsers.adapters.checked import LEAST_SENTENCES
from pipeline.parsers.dependency.checked_pass import CheckedPass
from pipeline.parsers.dependency.supar_adapter import SuparDependencyParser
from pipeline.trees.parses import DependencyParse
from tests.support.parsed_corpora import stories, write_corpus

SENTENCES = [
    ["the", "dog", "sees", "a", "man", "of", "old", "with", "it", "."][number % 7 :][:9]
    for number in range(LEAST_SENTENCES)
]


class Sure(CheckedPass):
    """Has a margin of nothing."""

    def learn(self, sentences: Sequence[Sentence], *, batch_tokens: int) -> int:
        self.margin.begin_call()
        self.margin.learn(torch.zeros(1000), torch.zeros(1000))
        return MAX_TOKENS


class Wrong(Sure):
    """Is certain of what is wrong."""

    def __call__(self, sentences: Sequence[Sentence]) -> list[DependencyParse | None]:
        return [
            DependencyParse([0] * len(one), ["root"] * len(one)) if len(one) > 3 else None
            for one in sentences
        ]


class Failing(Sure):
    """Fails on whatever it is asked."""

    def __call__(self, sentences: Sequence[Sentence]) -> list[DependencyParse | None]:
        raise ValueError("never any")


def parser(kind: type[CheckedPass] | None) -> SuparDependencyParser:
    """Returns one whose first way is as exact as its second."""
    made = SuparDependencyParser.load(BUNDLED_PARSERS["dependencies"])
    made.checked = None
    if kind is not None:
        network = made.network
        made.checked = kind(network, network, made._vocabulary, made._spellings)
    return made


def test_all_trees_are_compared_and_those_kept_are_counted() -> None:
    found = compare(parser(Sure), SENTENCES)
    assert (found.num_sentences, found.different) == (LEAST_SENTENCES, 0)
    assert found.kept > LEAST_SENTENCES / 2


def test_a_tree_that_differs_is_counted() -> None:
    found = compare(parser(Wrong), SENTENCES)
    assert found.different > LEAST_SENTENCES / 4
    assert found.kept >= found.different


def test_without_anything_to_compare_it_does_not_pass() -> None:
    with pytest.raises(LackingError, match="multiplies nothing faster"):
        compare(parser(None), SENTENCES)
    with pytest.raises(ValueError, match="take 512"):
        compare(parser(Sure), SENTENCES[1:])
    with pytest.raises(RuntimeError, match="no tree of reduced precision was kept"):
        compare(parser(Failing), SENTENCES)


def test_all_sentences_are_taken_where_there_are_fewer_than_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_corpus(tmp_path, stories(70))
    made = parser(Sure)
    monkeypatch.setattr(SuparDependencyParser, "load", lambda _: made)
    assert exactness.main(["--corpus", str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["sentences"] == 70 * 8


@pytest.mark.parametrize(("kind", "status"), [(Sure, 0), (Wrong, 1), (Failing, 1), (None, 3)])
def test_the_status_tells_what_was_found(
    kind: type[CheckedPass] | None,
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_corpus(tmp_path, stories(70))
    made = parser(kind)
    monkeypatch.setattr(SuparDependencyParser, "load", lambda _: made)
    arguments = ["--corpus", str(tmp_path), "--sentences", str(LEAST_SENTENCES)]
    assert exactness.main(arguments) == status
    assert ("trees differ from those of float32" in capsys.readouterr().err) == (kind is Wrong)
