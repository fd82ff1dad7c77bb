"""Training sentences as careless text would have them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.parser_training.__main__ import main
from pipeline.parser_training.constituency.examples import ExampleSet, build_vocabularies
from pipeline.parser_training.dependency.loss import GoldTreebank
from pipeline.parser_training.epochs.alterations import (
    constituents_without_final_mark,
    dependencies_without_final_mark,
)
from pipeline.parsers.dependency_model import DependencyVocabulary
from pipeline.trees.treebanks import (
    BracketedSentence,
    TreebankSentence,
    read_bracketed,
    to_brackets,
)
from tests.support.dependency_examples import treebank, write_conllu

SENTENCE = TreebankSentence(
    "a", ["Ann", "saw", "it", "."], [2, 0, 2, 2], ["nsubj", "root", "obj", "punct"]
)
LABELS = {"S", "NP", "VP", "FRAG", "INTJ", "S+VP", "S+S+VP", "FRAG+INTJ", "S+NP"}


def test_the_final_mark_goes() -> None:
    cut = dependencies_without_final_mark(SENTENCE)
    assert (cut.tokens, cut.heads) == (["Ann", "saw", "it"], [2, 0, 2])
    assert dependencies_without_final_mark(cut) == cut


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
    assert dependencies_without_final_mark(sentence) == sentence


def bracketed(text: str, folder: Path) -> BracketedSentence:
    (folder / "tree.mrg").write_text(text)
    return read_bracketed(folder / "tree.mrg")[0]


@pytest.mark.parametrize(
    ("tree", "left"),
    [
        ("(S (NP (PRP I)) (VP (VBP go)) (. .))", "(S (NP (PRP I)) (VP (VBP go)))"),
        ("(S (VP (VB Go) (NP (NN home))) (. !))", "(S (VP (VB Go) (NP (NN home))))"),
        ("(TOP (S (VP (VB Go))) (. !))", "(S (VP (VB Go)))"),
        ("(FRAG (INTJ (UH Yes)) (: :))", "(FRAG (INTJ (UH Yes)))"),
        ("(S (S (VP (VB Go) (. .))))", "(S (S (VP (VB Go))))"),
    ],
)
def test_the_final_mark_leaves_its_constituents(tree: str, left: str, tmp_path: Path) -> None:
    cut = constituents_without_final_mark(bracketed(tree, tmp_path), LABELS)
    assert to_brackets(cut.tokens, cut.parse) == left
    assert cut == replace(bracketed(left, tmp_path), line=cut.line)
    assert constituents_without_final_mark(cut, LABELS) == cut


@pytest.mark.parametrize(
    ("tree", "labels"),
    [
        ("(. .)", LABELS),
        ("(X (NP (NN a)) (X (. .)))", LABELS),
        ("(NP (NN a) ('' ''))", LABELS),
        ("(S (VP (VB Go)) (. !))", LABELS - {"S+VP"}),
    ],
)
def test_a_mark_stays_whose_loss_leaves_no_tree_of_the_parsers(
    tree: str, labels: set[str], tmp_path: Path
) -> None:
    sentence = bracketed(tree, tmp_path)
    assert constituents_without_final_mark(sentence, labels) == sentence


def test_batches_hold_as_many_altered_sentences_as_asked_for(tmp_path: Path) -> None:
    constituents = [bracketed("(S (NP (PRP I)) (VP (VBP go)) (. .))", tmp_path)] * 400
    vocabularies = build_vocabularies(constituents, min_character_count=1)
    vocabulary = DependencyVocabulary.build([SENTENCE], min_word_frequency=1)

    def constituent_lengths(share: float, seed: int) -> list[int]:
        examples = ExampleSet(constituents, vocabularies, altered_share=share)
        return [n for batch in examples.batches(90, seed=seed) for n in batch.lengths.tolist()]

    def dependency_lengths(share: float) -> list[int]:
        gold = GoldTreebank(
            [SENTENCE] * 400, vocabulary, unknown_word_alpha=0.25, altered_share=share
        )
        batch = gold.batch(range(400), np.random.default_rng(1))
        return (batch.inputs.lengths - 1).tolist()

    assert constituent_lengths(0.0, 1) == [3] * 400
    some = constituent_lengths(0.3, 1)
    assert 310 < some.count(3) < 370 and set(some) == {2, 3}
    assert constituent_lengths(0.3, 1) == some != constituent_lengths(0.3, 2)
    assert dependency_lengths(0.0) == [4] * 400
    assert 310 < dependency_lengths(0.3).count(4) < 370
    assert 150 < dependency_lengths(1.0).count(3) < 250


def test_words_whose_capitals_have_other_small_letters_are_known(tmp_path: Path) -> None:
    tree = "(S (NP (PRP They)) (VP (MD must) (VP (VB ﬁnd) (NP (NN Straße)))) (. .))"
    sentences = [bracketed(tree, tmp_path)] * 200
    vocabularies = build_vocabularies(sentences, min_character_count=1)
    examples = ExampleSet(sentences, vocabularies, altered_share=1.0)
    assert sum(len(batch.lengths) for batch in examples.batches(90, seed=1)) == 200


def test_a_share_beyond_one_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(write_conllu(treebank(), tmp_path / "text.conllu"))
    arguments = ["--train", file, "--dev", file, "--altered-share", "1.5"]
    assert main(["dependency", str(tmp_path / "out"), *arguments]) == 2
    assert "must lie in [0, 1]" in capsys.readouterr().err
