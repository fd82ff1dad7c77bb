"""The labels of sentences parsed by hand."""

from __future__ import annotations

import pytest

from models.evaluation.probing_labels import (
    Marked,
    object_number,
    subject_number,
    tense,
    top_constituents,
    tree_depth,
)
from tests.support.probing_examples import sentence

FLAT = [(0, 3, "S")]


def test_tense_is_the_main_verbs_own_where_it_has_no_auxiliary() -> None:
    parsed = sentence("Ada wrote code", [2, 0, 2], "nsubj root obj", "NNP VBD NN", FLAT)
    assert tense(parsed) == Marked("past", "wrote")


def test_tense_is_the_first_auxiliarys_not_the_participles() -> None:
    parsed = sentence("It is written", [3, 3, 0], "nsubj:pass aux:pass root", "PRP VBZ VBN", FLAT)
    assert tense(parsed) == Marked("present", "is")


def test_tense_of_a_past_perfect_is_past() -> None:
    parsed = sentence(
        "It had been written", [4, 4, 4, 0], "nsubj aux aux:pass root", "PRP VBD VBN VBN",
        [(0, 4, "S")],
    )  # fmt: skip
    assert tense(parsed) == Marked("past", "had")


def test_tense_of_a_copular_clause_is_the_copulas() -> None:
    parsed = sentence("Keys Were strings", [3, 3, 0], "nsubj cop root", "NNS VBD NNS", FLAT)
    assert tense(parsed) == Marked("past", "were")


@pytest.mark.parametrize(
    ("words", "heads", "deprels", "tags"),
    [
        ("It may fail", [3, 3, 0], "nsubj aux root", "PRP MD VB"),
        ("Return the key", [0, 3, 1], "root det obj", "VB DT NN"),
        ("All these keys", [3, 3, 0], "det det root", "DT DT NNS"),
    ],
)
def test_tense_is_none_for_modals_imperatives_and_fragments(
    words: str, heads: list[int], deprels: str, tags: str
) -> None:
    assert tense(sentence(words, heads, deprels, tags, FLAT)) is None


def test_tense_ignores_auxiliaries_of_other_verbs() -> None:
    parsed = sentence(
        "She knows he was wrong", [2, 0, 5, 5, 2], "nsubj root nsubj cop ccomp",
        "PRP VBZ PRP VBD JJ", [(0, 5, "S")],
    )  # fmt: skip
    assert tense(parsed) == Marked("present", "knows")


def test_subject_and_object_number_come_from_the_roots_arguments() -> None:
    parsed = sentence("Readers want Files", [2, 0, 2], "nsubj root obj", "NNS VBP NNPS", FLAT)
    assert subject_number(parsed) == Marked("plural", "readers")
    assert object_number(parsed) == Marked("plural", "files")


def test_subject_number_counts_passive_subjects() -> None:
    parsed = sentence("Time was lost", [3, 3, 0], "nsubj:pass aux:pass root", "NN VBD VBN", FLAT)
    assert subject_number(parsed) == Marked("singular", "time")


def test_subject_number_is_none_for_pronouns_and_for_subjects_of_other_clauses() -> None:
    pronoun = sentence("They want files", [2, 0, 2], "nsubj root obj", "PRP VBP NNS", FLAT)
    below = sentence("Say cats sleep", [0, 3, 1], "root nsubj ccomp", "VB NNS VBP", FLAT)
    assert subject_number(pronoun) is None
    assert subject_number(below) is None


def test_tree_depth_counts_the_longest_path_and_unary_labels() -> None:
    spans = [(0, 4, "S"), (0, 1, "NP"), (1, 4, "VP"), (2, 4, "SBAR+S"), (3, 4, "NP")]
    parsed = sentence("a b c d", [0, 1, 1, 1], "root x x x", "X X X X", spans)
    assert tree_depth(parsed) == 5  # S VP SBAR S NP


def test_top_constituents_name_spans_and_loose_words_in_order() -> None:
    spans = [(0, 6, "S"), (0, 1, "ADVP"), (2, 4, "NP+NP"), (2, 3, "NP"), (4, 5, "VP")]
    parsed = sentence("a , b c d .", [0, 1, 1, 1, 1, 1], "r x x x x x", "RB , NN NN VBD .", spans)
    assert top_constituents(parsed) == "ADVP , NP VP ."


def test_top_constituents_of_a_unary_top_are_its_only_child() -> None:
    parsed = sentence("Run it", [0, 1], "root obj", "VB PRP", [(0, 2, "S+VP"), (1, 2, "NP")])
    assert top_constituents(parsed) == "VP"


def test_top_constituents_need_a_top_s() -> None:
    parsed = sentence("The end", [2, 0], "det root", "DT NN", [(0, 2, "NP")])
    assert top_constituents(parsed) is None
