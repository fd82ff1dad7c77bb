"""Attachment scores and bracket scores, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.inverse_trees import from_brackets
from treeviews.pipeline.trees.flat_trees import ConstituencyParse, DependencyParse
from treeviews.pipeline.trees.tree_scores import AttachmentCounts, BracketCounts, score
from treeviews.pipeline.trees.treebanks import BracketedSentence, TreebankSentence


def score_brackets(gold: list[ConstituencyParse], predicted: list[Any], **how: bool) -> Any:
    sentences = [BracketedSentence(tree.tags, tree) for tree in gold]
    return score(BracketCounts(**how), sentences, predicted)


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
    counts = {"num_sentences": 1, "num_gold": 5, "num_predicted": 5, "num_matched": 4}
    shares = {"precision": 80.0, "recall": 80.0, "f1": 80.0, "exact_match": 0.0}
    assert scores == pytest.approx({**counts, **shares, "tag_accuracy": 100 * 6 / 7})


def test_precision_and_recall_are_pooled_over_sentences() -> None:
    flat = from_brackets("(S (DT The) (NN dog) (VBD saw) (DT a) (NN cat) (RP up) (. .))")[1]
    scores = score_brackets([GOLD, GOLD], [flat, GOLD])
    counts = {"num_sentences": 2, "num_gold": 10, "num_predicted": 6, "num_matched": 6}
    shares = {"precision": 100.0, "recall": 60.0, "f1": 75.0, "exact_match": 50.0}
    assert scores == pytest.approx({**counts, **shares, "tag_accuracy": 100.0})


def test_the_top_node_and_spans_of_punctuation_alone_do_not_count() -> None:
    tree = from_brackets("(TOP (NP (NN Help)) (PRN (. !) (. !)))")[1]
    assert score_brackets([tree], [tree])["num_gold"] == 1
    assert score_brackets([tree], [tree], all_tokens=True)["num_gold"] == 2


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
    scores = score(AttachmentCounts(), [seen, gold(["Go"], [0], ["root"])], [wrong_head, perfect])
    expected = {"num_sentences": 2, "num_tokens": 6, "exact_match": 50.0}
    expected |= {"uas": 100 * 4 / 6, "las": 100 * 3 / 6, "las_universal": 100 * 4 / 6}
    expected |= {"uas_no_punctuation": 80.0, "las_no_punctuation": 60.0}
    assert scores == pytest.approx(expected)
