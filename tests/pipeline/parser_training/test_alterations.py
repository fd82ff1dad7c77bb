"""Training sentences as careless text would have them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from pipeline.parser_training.__main__ import main
from pipeline.parser_training.constituency import altered_trees as constituents
from pipeline.parser_training.constituency.examples import ExampleSet, build_vocabularies
from pipeline.parser_training.dependency.altered_trees import (
    dependency_alterations,
    with_list_mark,
    without_final_mark,
)
from pipeline.parser_training.dependency.loss import GoldTreebank
from pipeline.parser_training.epochs.alterations import (
    LIST_MARKS,
    LONGEST_LIST_MARK,
    RELATIONS_OF_MARKS,
    TAGS_OF_MARKS,
    ListMark,
    in_lower_case,
    list_mark,
)
from pipeline.parsers.dependency.vocabulary import DependencyVocabulary
from pipeline.trees.flat import to_brackets, validate_heads
from pipeline.trees.treebanks import BracketedSentence, TreebankSentence, read_bracketed
from tests.support.constituency_trees import toy_treebank, write_bracketed
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
        mark = list_mark(random)
        listed, shift = with_list_mark(SENTENCE, mark), len(mark.tokens)
        assert listed.tokens[shift:] == SENTENCE.tokens
        assert listed.deprels[shift:] == SENTENCE.deprels
        assert validate_heads(listed.heads) is None
        assert listed.heads.index(0) == 1 + shift
        outer = [place for place in range(shift) if listed.heads[place] == 2 + shift]
        assert len(outer) == 1
        assert set(listed.deprels[:shift]) <= RELATIONS_OF_MARKS
        assert set(mark.tags) <= TAGS_OF_MARKS and set(mark.tokens) <= LIST_MARKS
        assert shift == len(mark.tags) <= LONGEST_LIST_MARK
        marks.add(" ".join(mark.tokens))
    assert {"-", "3.", "b )", "( 2 )"} <= marks


def test_each_way_is_drawn() -> None:
    random = np.random.default_rng(0)
    alterations = dependency_alterations(1.0, RELATIONS_OF_MARKS)
    lengths = [len(alterations.drawn(SENTENCE, random).tokens) for _ in range(200)]
    assert {3, 4, 5, 6} <= set(lengths)
    assert 40 < lengths.count(3) < 95


def bracketed(text: str, folder: Path) -> BracketedSentence:
    (folder / "tree.mrg").write_text(text)
    return read_bracketed(folder / "tree.mrg")[0]


def brackets(sentence: BracketedSentence) -> str:
    return to_brackets(sentence.tokens, sentence.parse)


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
    cut = constituents.without_final_mark(bracketed(tree, tmp_path))
    assert brackets(cut) == left
    assert cut == replace(bracketed(left, tmp_path), line=cut.line)
    assert constituents.without_final_mark(cut) == cut


@pytest.mark.parametrize("tree", ["(. .)", "(X (NP (NN a)) (X (. .)))", "(NP (NN a) ('' ''))"])
def test_a_mark_stays_that_is_all_there_is_of_a_constituent(tree: str, tmp_path: Path) -> None:
    sentence = bracketed(tree, tmp_path)
    assert constituents.without_final_mark(sentence) == sentence


@pytest.mark.parametrize(
    ("tree", "command"),
    [
        (
            "(S (NP (PRP They)) (VP (MD must) (VP (VB go) (NP (NN home)))) (. !))",
            "(S (VP (VB Go) (NP (NN home))) (. .))",
        ),
        (
            "(S (S (VP (TO To) (VP (VB sell) (NP (NN it)) (, ,) (ADVP (RB now))))) (VP (VBZ is) "
            "(ADJP (JJ bad))))",
            "(S (VP (VB Sell) (NP (NN it)) (, ,) (ADVP (RB now))) (. .))",
        ),
    ],
)
def test_an_infinitive_becomes_a_command(tree: str, command: str, tmp_path: Path) -> None:
    sentence = bracketed(tree, tmp_path)
    made = constituents.as_command(sentence, np.random.default_rng(0))
    assert brackets(made) == command
    assert made.parse == bracketed(command, tmp_path).parse


@pytest.mark.parametrize(
    "tree",
    [
        "(S (VP (VB Go) (NP (NN home))) (. .))",
        "(S (NP (PRP I)) (VP (MD will) (VP (VB go))))",
        "(S (NP (PRP I)) (VP (VBP go) (NP (NN home))))",
        "(S (NP (PRP I)) (VP (MD will) (VP (VB have) (VP (VBN gone)))))",
        "(S (NP (PRP I)) (VP (MD will) (VP (VB go) (NP (NN home)) (. !))))",
    ],
)
def test_a_sentence_without_a_full_infinitive_makes_no_command(tree: str, tmp_path: Path) -> None:
    sentence = bracketed(tree, tmp_path)
    assert constituents.as_command(sentence, np.random.default_rng(0)) == sentence


def test_a_third_of_the_altered_are_made_into_commands(tmp_path: Path) -> None:
    tree = "(S (NP (PRP They)) (VP (MD must) (VP (VB go) (NP (NN home)))) (. !))"
    sentence, random = bracketed(tree, tmp_path), np.random.default_rng(0)
    labels = {"S", "NP", "VP", "S+VP"}
    alterations = constituents.constituency_alterations(1.0, labels, TAGS_OF_MARKS)
    drawn = [alterations.drawn(sentence, random).tokens for _ in range(300)]
    assert 70 < sum("must" not in tokens for tokens in drawn) < 130


@pytest.mark.parametrize(
    ("tree", "listed"),
    [
        ("(S (VP (VB Go)) (. .))", "(S (LS 3) (-RRB- -RRB-) (VP (VB Go)) (. .))"),
        ("(S (VP (VB Go)))", "(S (LS 3) (-RRB- -RRB-) (VP (VB Go)))"),
        ("(NP (NN Food))", "(NP (LS 3) (-RRB- -RRB-) (NN Food))"),
        ("(NN Food)", "(TOP (LS 3) (-RRB- -RRB-) (NN Food))"),
    ],
)
def test_the_highest_constituent_takes_the_mark(tree: str, listed: str, tmp_path: Path) -> None:
    mark = ListMark(["3", ")"], [0, 1], ["discourse", "punct"], ["LS", "-RRB-"])
    after = constituents.with_list_mark(bracketed(tree, tmp_path), mark)
    assert brackets(after) == listed
    assert after.parse == bracketed(listed, tmp_path).parse


def test_an_altered_tree_has_no_label_that_the_parser_lacks(tmp_path: Path) -> None:
    sentence = bracketed("(S (VP (VB Go)) (. !))", tmp_path)
    random = np.random.default_rng(0)

    def seen(*labels: str) -> set[str]:
        alterations = constituents.constituency_alterations(1.0, labels, [])
        return {brackets(alterations.drawn(sentence, random)) for _ in range(30)}

    marked = {"(S (VP (VB Go)) (. !))", "(S (VP (VB go)) (. !))"}
    assert seen("S", "VP") == marked
    assert seen("S", "VP", "S+VP") == {"(S (VP (VB Go)))", "(S (VP (VB go)))"} | marked


def test_batches_of_constituents_hold_as_many_altered_sentences_as_asked_for(
    tmp_path: Path,
) -> None:
    sentences = [bracketed("(S (NP (PRP I)) (VP (VBP go)) (. .))", tmp_path)] * 400
    vocabularies = build_vocabularies(sentences, min_character_count=1)
    vocabularies = replace(vocabularies, tags=sorted({*vocabularies.tags, *TAGS_OF_MARKS}))

    def lengths(share: float, seed: int) -> list[int]:
        examples = ExampleSet(sentences, vocabularies, altered_share=share)
        return [n for batch in examples.batches(90, seed=seed) for n in batch.lengths.tolist()]

    assert lengths(0.0, 1) == [3] * 400
    some = lengths(0.3, 1)
    assert 280 < some.count(3) < 360 and {2, 4, 5, 6} <= set(some)
    assert lengths(0.3, 1) == some != lengths(0.3, 2)


def test_a_batch_of_constituents_has_the_trees_that_are_left(tmp_path: Path) -> None:
    sentences = [bracketed("(S (NP (PRP I)) (VP (VBP go)) (. .))", tmp_path)] * 99
    vocabularies = build_vocabularies(sentences, min_character_count=1)
    for share, whole in ((0.0, {3}), (1.0, {2, 3})):
        examples = ExampleSet(sentences, vocabularies, altered_share=share)
        (batch,) = examples.batches(9999, seed=1)
        assert set(batch.lengths.tolist()) == whole
        assert batch.tags[batch.mask].gt(-1).sum() == batch.lengths.sum()
        ends = batch.gold.ends.view(99, 3)  # S, NP, VP
        assert ends.equal(torch.stack([batch.lengths, batch.lengths**0, batch.lengths**0 * 2], 1))
        labels = [vocabularies.labels[label] for label in batch.gold_labels.tolist()]
        assert labels == ["S", "NP", "VP"] * 99


def test_words_whose_capitals_have_other_small_letters_are_known(tmp_path: Path) -> None:
    tree = "(S (NP (PRP They)) (VP (MD must) (VP (VB ﬁnd) (NP (NN straße)))) (. .))"
    sentences = [bracketed(tree, tmp_path)] * 200
    vocabularies = build_vocabularies(sentences, min_character_count=1)
    examples = ExampleSet(sentences, vocabularies, altered_share=1.0)
    assert sum(len(batch.lengths) for batch in examples.batches(90, seed=1)) == 200


def test_a_training_on_altered_constituents_tells_what_it_lacks(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = str(write_bracketed(tmp_path / "toy.mrg", toy_treebank(20, seed=1)))
    sizes = ["--d-model", "32", "--num-layers", "1", "--num-heads", "2", "--d-ff", "16"]
    arguments = ["--train", file, "--dev", file, "--altered-share", "0.5", "--num-epochs", "1"]
    assert main(["constituency", str(tmp_path / "out"), *arguments, *sizes]) == 0
    assert "no marks of lists: the parser does not know" in caplog.text


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
    assert "no marks of lists: the parser does not know discourse" in caplog.text
    lengths = (gold.batch(range(99), np.random.default_rng(1)).inputs.lengths - 1).tolist()
    assert set(lengths) == {3, 4} and set(gold.lengths) == {4}


def test_a_share_beyond_one_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(write_conllu(treebank(), tmp_path / "text.conllu"))
    arguments = ["--train", file, "--dev", file, "--altered-share", "1.5"]
    assert main(["dependency", str(tmp_path / "out"), *arguments]) == 2
    assert "must lie in [0, 1]" in capsys.readouterr().err
