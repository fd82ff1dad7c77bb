"""Attachment scores and bracket scores, by hand."""

from __future__ import annotations

import pytest

from tests.support.inverse_trees import from_brackets
from treeviews.pipeline.trees.flat_trees import DependencyParse
from treeviews.pipeline.trees.tree_scores import (
    is_punctuation,
    score_brackets,
    score_dependencies,
)
from treeviews.pipeline.trees.treebanks import TreebankSentence

GOLD = from_brackets(
    "(S (NP (DT The) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat)) (PRT (RP up))) (. .))"
)[1]


PREDICTED = from_brackets(
    "(S (NP (DT The) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat) (ADVP (RB up))) (. .)))"
)[1]


def test_evalb_conventions_by_hand() -> None:
    # Less the full stop, gold:      S[0,6) NP[0,2) VP[2,6) NP[3,5) PRT[5,6)
    #                     predicted: S[0,6) NP[0,2) VP[2,6) NP[3,6) ADVP[5,6)
    # All match but the last NP: ADVP and PRT are one label.
    scores = score_brackets([GOLD], [PREDICTED])
    assert (scores.num_gold, scores.num_predicted, scores.num_matched) == (5, 5, 4)
    assert scores.precision == scores.recall == scores.f1 == pytest.approx(80.0)
    assert scores.exact_match == 0.0
    assert scores.tag_accuracy == pytest.approx(100 * 6 / 7)


def test_with_punctuation_kept_the_verb_phrase_ends_elsewhere() -> None:
    assert score_brackets([GOLD], [PREDICTED], all_tokens=True).num_matched == 2


def test_precision_and_recall_are_pooled_over_sentences() -> None:
    flat = from_brackets("(S (DT The) (NN dog) (VBD saw) (DT a) (NN cat) (RP up) (. .))")[1]
    scores = score_brackets([GOLD, GOLD], [flat, GOLD])
    assert (scores.num_gold, scores.num_predicted, scores.num_matched) == (10, 6, 6)
    assert scores.precision == 100.0
    assert scores.recall == pytest.approx(60.0)
    assert scores.f1 == pytest.approx(75.0)
    assert scores.exact_match == 50.0


def test_the_top_node_and_spans_of_punctuation_alone_do_not_count() -> None:
    tree = from_brackets("(TOP (NP (NN Help)) (PRN (. !) (. !)))")[1]
    assert score_brackets([tree], [tree]).num_gold == 1
    assert score_brackets([tree], [tree], all_tokens=True).num_gold == 2


def test_pairs_must_match() -> None:
    with pytest.raises(ValueError, match="1 gold trees, but 0 predicted ones"):
        score_brackets([GOLD], [])
    with pytest.raises(ValueError, match="sentence 0: 7 gold tokens, but 1 predicted ones"):
        score_brackets([GOLD], [from_brackets("(NP (NN a))")[1]])


def gold(tokens: list[str], heads: list[int], deprels: list[str]) -> TreebankSentence:
    return TreebankSentence("doc", tokens, heads, deprels)


def test_each_convention_counts_what_it_says() -> None:
    seen = gold(
        ["She", "was", "seen", "there", "."],
        [3, 3, 0, 3, 3],
        ["nsubj:pass", "aux:pass", "root", "advmod", "punct"],
    )
    wrong_head = DependencyParse(
        heads=[3, 3, 0, 2, 1], deprels=["nsubj", "aux:pass", "root", "advmod", "punct"]
    )
    perfect = DependencyParse([0], ["root"])
    scores = score_dependencies([seen, gold(["Go"], [0], ["root"])], [wrong_head, perfect])
    assert (scores.num_sentences, scores.num_tokens) == (2, 6)
    assert scores.uas == pytest.approx(100 * 4 / 6)
    assert scores.las == pytest.approx(100 * 3 / 6)
    assert scores.las_universal == pytest.approx(100 * 4 / 6)
    assert scores.uas_no_punctuation == pytest.approx(100 * 4 / 5)
    assert scores.las_no_punctuation == pytest.approx(100 * 3 / 5)
    assert scores.exact_match == 50.0


def test_punctuation_is_by_unicode_category() -> None:
    assert is_punctuation("...") and is_punctuation("“") and is_punctuation("—")
    assert not is_punctuation("$") and not is_punctuation("'s") and not is_punctuation("+")


def test_nothing_to_score_and_uneven_lists_are_refused() -> None:
    with pytest.raises(ValueError, match="no sentence to score"):
        score_dependencies([], [])
    with pytest.raises(ValueError, match="sentence 0: tokens, heads and deprels differ"):
        score_dependencies(
            [gold(["a", "b"], [0, 1], ["root", "obj"])], [DependencyParse([0], ["r", "o"])]
        )
