"""What two trees of a sentence share, counted over sentences one by one.

The scores are those of `pipeline.trees.tree_scores`. There the first parse stands in the place of
gold trees, which matters in one thing: its tags tell which tokens are punctuation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pipeline.inspect.drawing.rows import constituency_of
from pipeline.trees.flat import CHAIN_MARK
from pipeline.trees.parses import ConstituencyParse, DependencyParse
from pipeline.trees.tree_scores import AttachmentCounts, BracketConvention, BracketCounts
from pipeline.trees.treebanks import TreebankSentence

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Difference:
    """What of one token or phrase the two parses say otherwise."""

    start: int
    end: int
    """The tokens ``start:end``, from 0."""
    words: str
    first: str
    """What the first parse says; empty where it has no such phrase."""
    second: str


@dataclass(slots=True)
class Agreement:
    """How often the two parses have one relation or label."""

    first: int = 0
    second: int = 0
    both: int = 0
    """In the same place."""

    @property
    def share(self) -> float:
        """Returns in percent how much of what either has both have, as an F1 score."""
        return 200.0 * self.both / max(self.first + self.second, 1)


class Tally(Protocol):
    """Counts of one kind of tree."""

    compared: int
    """Sentences so far."""
    identical: int
    """Those whose trees are the same in all."""
    by_label: dict[str, Agreement]
    exchanged: Counter[tuple[str, str]]
    """What the first and the second call the same arc or span, where they differ in that alone."""

    def add(self, tokens: list[str], first: Row, second: Row) -> float:
        """Counts a sentence; returns the share in which its trees differ, 0 to 1."""
        ...

    def scores(self) -> dict[str, dict[str, float]]:
        """Returns the scores so far, by what counts as equal; percent, and counts."""
        ...

    def differences(self, tokens: Sequence[str], first: Row, second: Row) -> list[Difference]:
        """Returns in what the two trees of a sentence differ."""
        ...


@dataclass(slots=True)
class DependencyTally:
    """Arcs."""

    compared: int = 0
    identical: int = 0
    by_label: dict[str, Agreement] = field(default_factory=dict)
    exchanged: Counter[tuple[str, str]] = field(default_factory=Counter)
    _counts: AttachmentCounts = field(default_factory=AttachmentCounts)

    def add(self, tokens: list[str], first: Row, second: Row) -> float:
        """Counts a sentence; returns the share of its tokens with another head or relation."""
        sentence = TreebankSentence("", tokens, first["heads"], first["deprels"])
        wrong = self._counts.add(sentence, DependencyParse(second["heads"], second["deprels"]))
        self.compared += 1
        self.identical += not wrong
        for head, name, other_head, other in _arcs(first, second):
            of_name = self.by_label.setdefault(name, Agreement())
            of_other = self.by_label.setdefault(other, Agreement())
            of_name.first += 1
            of_other.second += 1
            if head == other_head:
                of_name.both += name == other
                if name != other:
                    self.exchanged[name, other] += 1
        return wrong / len(tokens)

    def scores(self) -> dict[str, dict[str, float]]:
        """Returns the attachment scores so far."""
        scores = self._counts.scores()
        return {
            "all tokens": {
                "uas": scores.uas,
                "las": scores.las,
                "las_universal": scores.las_universal,
                "tokens": scores.num_tokens,
            },
            "without punctuation": {
                "uas": scores.uas_no_punctuation,
                "las": scores.las_no_punctuation,
            },
        }

    def differences(self, tokens: Sequence[str], first: Row, second: Row) -> list[Difference]:
        """Returns the tokens whose head or relation differs."""
        names = ["ROOT", *tokens]
        return [
            Difference(place, place + 1, tokens[place], f"{a}–{names[head]}", f"{b}–{names[other]}")
            for place, (head, a, other, b) in enumerate(_arcs(first, second))
            if (head, a) != (other, b)
        ]


def _arcs(first: Row, second: Row) -> list[tuple[int, str, int, str]]:
    """Returns head and relation by the first and by the second parse, of each token."""
    columns = (first["heads"], first["deprels"], second["heads"], second["deprels"])
    return list(zip(*columns, strict=True))


@dataclass(slots=True)
class ConstituentTally:
    """Brackets."""

    compared: int = 0
    identical: int = 0
    by_label: dict[str, Agreement] = field(default_factory=dict)
    exchanged: Counter[tuple[str, str]] = field(default_factory=Counter)
    _counts: dict[str, BracketCounts] = field(
        default_factory=lambda: {
            "labelled brackets": BracketCounts(),
            "brackets": BracketCounts(BracketConvention(labelled=False)),
            "labelled brackets, punctuation kept": BracketCounts(
                BracketConvention(keep_punctuation=True, equate_advp_and_prt=False)
            ),
        }
    )

    def add(self, tokens: list[str], first: Row, second: Row) -> float:
        """Counts a sentence; returns the share of both trees' phrases that one of them has."""
        one, other = constituency_of(first), constituency_of(second)
        for counts in self._counts.values():
            counts.add(one, other)
        self.compared += 1
        self.identical += one == other
        spans = Counter(_spans(one)), Counter(_spans(other))
        for place, found in enumerate(spans):
            for (_, _, label), count in found.items():
                of_label = self.by_label.setdefault(label, Agreement())
                of_label.first += count * (place == 0)
                of_label.second += count * (place == 1)
        both = spans[0] & spans[1]
        for (_, _, label), count in both.items():
            self.by_label[label].both += count
        for pair in _exchanged(spans[0] - both, spans[1] - both):
            self.exchanged[pair] += 1
        total = spans[0].total() + spans[1].total()
        return (total - 2 * both.total()) / total

    def scores(self) -> dict[str, dict[str, float]]:
        """Returns the bracket scores so far."""
        shown = {}
        for name, counts in self._counts.items():
            scores = counts.scores()
            shown[name] = {
                "f1": scores.f1,
                "first": scores.num_gold,
                "second": scores.num_predicted,
                "both": scores.num_matched,
            }
        tags = self._counts["brackets"].scores().tag_accuracy
        return shown | {"tags": {"agreement": tags}}

    def differences(self, tokens: Sequence[str], first: Row, second: Row) -> list[Difference]:
        """Returns the phrases that one tree has, and those of another label, in their order."""
        spans = [Counter(_spans(constituency_of(row))) for row in (first, second)]
        both = spans[0] & spans[1]
        labels: dict[tuple[int, int], tuple[list[str], list[str]]] = {}
        for place, found in enumerate(spans):
            for start, end, label in (found - both).elements():
                labels.setdefault((start, end), ([], []))[place].append(label)
        return [
            Difference(start, end, " ".join(tokens[start:end]), "+".join(a), "+".join(b))
            for (start, end), (a, b) in sorted(labels.items(), key=lambda i: (i[0][0], -i[0][1]))
        ]


def _spans(parse: ConstituencyParse) -> list[tuple[int, int, str]]:
    """Returns a tree's phrases, those of a unary chain one by one."""
    return [
        (start, end, label)
        for start, end, chain in zip(parse.starts, parse.ends, parse.labels, strict=True)
        for label in chain.split(CHAIN_MARK)
    ]


def _exchanged(
    first: Counter[tuple[int, int, str]], second: Counter[tuple[int, int, str]]
) -> list[tuple[str, str]]:
    """Returns the labels of spans of which each tree has one that the other has not."""
    by_span = [{(start, end): label for start, end, label in found} for found in (first, second)]
    return [(by_span[0][span], by_span[1][span]) for span in by_span[0].keys() & by_span[1].keys()]
