"""Which pairs of words are swapped, and in which sentences."""

from __future__ import annotations

import pytest

from models.evaluation.derived.held_out.shift_and_inversion import shift, shift_positions


def test_the_first_word_punctuation_and_equal_words_stay_in_place() -> None:
    assert shift_positions(["The", "old", "Old", "cat", ",", "it", "slept", "."]) == [2, 5]


def test_shift_swaps_exactly_one_adjacent_pair_and_repeats_itself() -> None:
    tokens = ["one", "two", "three", "four", "five", "six"]
    found = shift(tokens, seed=3)
    moved = [i for i in range(6) if found[i] != tokens[i]]
    assert len(moved) == 2 and moved[1] == moved[0] + 1
    assert sorted(found) == sorted(tokens)
    assert shift(tokens, seed=3) == found


def test_shift_refuses_a_sentence_without_a_pair() -> None:
    with pytest.raises(ValueError, match="no adjacent words to swap in 'Stop !'"):
        shift(["Stop", "!"], seed=0)
