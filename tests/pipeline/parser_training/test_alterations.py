"""Training sentences as careless text would have them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.parser_training.__main__ import main
from pipeline.parser_training.dependency.alterations import (
    RELATIONS_OF_MARKS,
    altered,
    in_lower_case,
    with_list_mark,
    without_final_mark,
)
from pipeline.parser_training.dependency.loss import GoldTreebank
from pipeline.parsers.dependency.vocabulary import DependencyVocabulary
from pipeline.trees.flat import validate_heads
from pipeline.trees.treebanks import TreebankSentence
from tests.support.dependency_examples import treebank, write_conllu

SENTENCE = TreebankSentence(
    "a", ["Ann", "saw", "it", "."], [2, 0, 2, 2], ["nsubj", "root", "obj", "punct"]
)


def test_capitals_go_and_the_tree_stays() -> None:
    lower = in_lower_case(SENTENCE)
    assert lower == replace(SENTENCE, tokens=["ann", "saw", "it", "."])


def test_the_final_mark_goes() -> None:
    cut = without_final_mark(SENTENCE)
    assert (cut.tokens, cut.heads) == (["Ann", "saw", "it"], [2, 0, 2])
    assert without_final_mark(cut) == cut


@pytest.mark.parametrize(
    "sentence",
    [
        TreebankSentence("", ["."], [0], ["root"]),
        TreebankSentence("", ["."], [0], ["punct"]),
        TreebankSentence("", ["so", "."], [2, 0], ["punct", "root"]),
        TreebankSentence("", ["so", "."], [2, 0], ["discourse", "punct"]),
    ],
)
def test_a_mark_that_the_tree_needs_stays(sentence: TreebankSentence) -> None:
    assert without_final_mark(sentence) == sentence


def test_the_mark_of_a_list_hangs_on_the_root() -> None:
    random = np.random.default_rng(0)
    marks = set()
    for _ in range(1000):
        listed = with_list_mark(SENTENCE, random)
        shift = len(listed.tokens) - len(SENTENCE.tokens)
        assert listed.tokens[shift:] == SENTENCE.tokens
        assert listed.deprels[shift:] == SENTENCE.deprels
        validate_heads(listed.heads)
        assert listed.heads.index(0) == 1 + shift
        outer = [place for place in range(shift) if listed.heads[place] == 2 + shift]
        assert len(outer) == 1
        assert set(listed.deprels[:shift]) <= RELATIONS_OF_MARKS
        marks.add(" ".join(listed.tokens[:shift]))
    assert {"-", "3.", "b )", "( 2 )"} <= marks


def test_each_way_is_drawn() -> None:
    random = np.random.default_rng(0)
    lengths = [len(altered(SENTENCE, random).tokens) for _ in range(200)]
    assert {3, 4, 5, 6} <= set(lengths)
    assert 40 < lengths.count(3) < 95


def test_a_batch_has_as_many_altered_sentences_as_asked_for() -> None:
    sentences = [SENTENCE] * 400
    extra = TreebankSentence("", ["oh"], [0], ["discourse"])
    vocabulary = DependencyVocabulary.build([SENTENCE, extra], min_word_frequency=1)

    def shapes(share: float) -> list[int]:
        gold = GoldTreebank(sentences, vocabulary, unknown_word_alpha=0.25, altered_share=share)
        batch = gold.batch(range(400), np.random.default_rng(1))
        return (batch.inputs.lengths - 1).tolist()

    assert shapes(0.0) == [4] * 400
    some, most = shapes(0.3), shapes(1.0)
    assert 250 < some.count(4) < 350
    assert most.count(4) < 200


def test_marks_whose_relations_the_treebank_lacks_are_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    vocabulary = DependencyVocabulary.build([SENTENCE], min_word_frequency=1)
    gold = GoldTreebank([SENTENCE] * 99, vocabulary, unknown_word_alpha=0.25, altered_share=1.0)
    assert "no marks of lists: the treebanks lack discourse" in caplog.text
    lengths = (gold.batch(range(99), np.random.default_rng(1)).inputs.lengths - 1).tolist()
    assert set(lengths) == {3, 4} and set(gold.lengths) == {4}


def test_a_share_beyond_one_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(write_conllu(treebank(), tmp_path / "text.conllu"))
    arguments = ["--train", file, "--dev", file, "--altered-share", "1.5"]
    assert main(["dependency", str(tmp_path / "out"), *arguments]) == 2
    assert "must lie in [0, 1]" in capsys.readouterr().err
