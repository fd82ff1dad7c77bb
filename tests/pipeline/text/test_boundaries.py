"""Where sentences end, each rule on lines of ``sentence_ends.txt``; ``|`` is where one ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.growth import times_the_cost
from treeviews.pipeline.text.boundaries import sentence_ranges
from treeviews.pipeline.text.tokenization import EnglishTokenizer

LINES = Path(__file__).with_name("sentence_ends.txt").read_text("utf-8")


@pytest.mark.parametrize("line", [line for line in LINES.splitlines() if line and line[0] != "#"])
def test_sentences_end_where_the_rules_say(line: str) -> None:
    (tokens,) = EnglishTokenizer().tokenize([line.replace(" | ", " ").replace("|", "")])
    ranges = sentence_ranges(tokens.words, tokens.spaces)
    assert "|".join("".join(tokens.words[a:b]) for a, b in ranges) == line.replace(" ", "")


@pytest.mark.parametrize("pattern", ["ha !", "[ … ]", "— The", "Thanks , Ann", "( ."])
def test_the_longest_paragraph_costs_no_more_than_its_length(pattern: str) -> None:
    def split_paragraph(length: int) -> None:
        words = (". " + length * f"{pattern} ").split()
        sentence_ranges(words, [True] * len(words))

    assert times_the_cost(split_paragraph, 1_600, 16_000) < 30  # its square: 100
