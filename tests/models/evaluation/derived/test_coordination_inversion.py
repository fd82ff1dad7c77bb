"""Which sentences coordinate two clauses, and how they read the other way round."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.evaluation.derived.held_out.config import ProbingConfig
from models.evaluation.derived.held_out.held_out_rows import HeldOutRow, SourceSentence, SourceText
from models.evaluation.derived.held_out.shift_and_inversion import (
    Casing,
    coordinated_clauses,
    invert_coordinations,
    inverted,
)

TEXT = [
    ["Then", "she", "saw", "that", "it", "was", "Ada", "and", "that", "I", "knew", "."],
    ["Today", "he", "said", "that", "the", "rain", "had", "stopped", "."],
]
"""Says how "she", "it", "Ada", "I", "the" and "he" are written inside a sentence."""


def source(words: str, tags: str, *clauses: tuple[int, int], number: int = 0) -> SourceSentence:
    """Returns a sentence whose top S holds these clauses, and all other words directly."""
    tokens = tuple(words.split())
    spans = [(0, len(tokens), "S"), *((start, end, "S") for start, end in clauses)]
    starts, ends, labels = zip(*spans, strict=True)
    row = HeldOutRow(0, number, number, f"document {number}", number, tokens)
    return SourceSentence(row, starts, ends, labels, tuple(tags.split()))


def swapped(words: str, tags: str, *clauses: tuple[int, int]) -> str | None:
    sentence = source(words, tags, *clauses)
    found = inverted(sentence, Casing([*TEXT, sentence.tokens]))
    return None if found is None else " ".join(found)


def test_clauses_are_swapped_and_comma_conjunction_and_full_stop_stay() -> None:
    found = swapped(
        "She sang , and he listened to it .", "PRP VBD , CC PRP VBD TO PRP .", (0, 2), (4, 8)
    )
    assert found == "He listened to it , and she sang ."


def test_a_comma_and_a_full_stop_are_not_needed() -> None:
    found = swapped("She sang but the rain fell", "PRP VBD CC DT NN VBD", (0, 2), (3, 6))
    assert found == "The rain fell but she sang"


@pytest.mark.parametrize(("first", "inside"), [("I", "I"), ("Ada", "Ada"), ("The", "the")])
def test_a_first_word_that_moves_inside_is_written_as_the_text_writes_it_there(
    first: str, inside: str
) -> None:
    found = swapped(f"{first} sang and he fell .", "PRP VBD CC PRP VBD .", (0, 2), (3, 5))
    assert found == f"He fell and {inside} sang ."


@pytest.mark.parametrize(
    ("words", "tags"),
    [
        ("Nobody sang and he fell .", "NN VBD CC PRP VBD ."),  # never seen inside
        ("she sang and he fell .", "PRP VBD CC PRP VBD ."),  # begins in lower case
        ("She sang and iOS fell .", "PRP VBD CC NNP VBD ."),  # cannot begin a sentence
        ("She sang and 10 fell .", "PRP VBD CC CD VBD ."),
    ],
)
def test_a_sentence_whose_case_would_give_the_swap_away_is_left_out(words: str, tags: str) -> None:
    assert swapped(words, tags, (0, 2), (3, 5)) is None


def test_a_text_without_capitals_is_left_without() -> None:
    sentence = source("she sang and he fell .", "PRP VBD CC PRP VBD .", (0, 2), (3, 5))
    found = inverted(sentence, Casing([sentence.tokens]))
    assert found == ("he", "fell", "and", "she", "sang", ".")


@pytest.mark.parametrize(
    ("words", "tags", "clauses"),
    [
        ("She sang .", "PRP VBD .", [(0, 2)]),
        ("She sang ; he fell .", "PRP VBD : PRP VBD .", [(0, 2), (3, 5)]),
        (
            "She sang , he fell and it broke .",
            "PRP VBD , PRP VBD CC PRP VBD .",
            [(0, 2), (3, 5), (6, 8)],
        ),
        ("Then she sang and he fell .", "RB PRP VBD CC PRP VBD .", [(1, 3), (4, 6)]),
    ],
)
def test_anything_but_two_coordinated_clauses_is_none(
    words: str, tags: str, clauses: list[tuple[int, int]]
) -> None:
    assert coordinated_clauses(source(words, tags, *clauses)) is None


def test_a_clause_of_a_unary_chain_counts() -> None:
    row = HeldOutRow(0, 0, 0, "d", 0, ("Read", "and", "he", "listens"))
    sentence = SourceSentence(row, (0, 0, 2), (4, 1, 4), ("S", "S+VP", "S"), ("VB", "CC", *"PV"))
    clauses = coordinated_clauses(sentence)
    assert clauses is not None
    assert [(clause.start, clause.end) for clause in clauses] == [(0, 1), (2, 4)]


def test_a_sentence_without_parse_is_not_inverted() -> None:
    row = HeldOutRow(0, 0, 0, "d", 0, ("She", "sang", "and", "he", "fell"))
    assert inverted(SourceSentence(row), Casing([row.tokens])) is None


def test_half_of_the_coordinations_are_inverted_and_the_others_stay_intact(tmp_path: Path) -> None:
    tags, clauses = "DT NN VBD , CC DT NN VBD .", ((0, 3), (5, 8))
    sentences = [
        source(f"The x{i} sang , and the y{i} fell .", tags, *clauses, number=i) for i in range(200)
    ]
    text = SourceText(tmp_path, tuple(sentences))
    halves = invert_coordinations(text, ProbingConfig())
    assert len(halves.altered) + len(halves.intact) == 200
    assert not set(halves.altered) & set(halves.intact)
    assert 75 < len(halves.altered) < 125
    number, tokens = next(iter(halves.altered.items()))
    assert " ".join(tokens) == f"The y{number} fell , and the x{number} sang ."
