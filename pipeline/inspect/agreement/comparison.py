"""Two parses of the same sentences, held against one another row group by row group."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from pipeline.inspect.agreement.tallies import (
    Agreement,
    ConstituentTally,
    DependencyTally,
    Difference,
    Row,
    Tally,
)
from pipeline.inspect.agreement.two_parses import TwoParses
from pipeline.inspect.chosen import Place
from pipeline.inspect.rows import groups_side_by_side

FIRST_ALONE, SECOND_ALONE, BOTH = "by the first alone", "by the second alone", "by both"


@dataclass(frozen=True, slots=True)
class DifferingSentence:
    """A sentence whose two trees differ."""

    place: Place
    share: float
    """Of its tokens, or of the phrases of both trees, those in which they differ; 0 to 1."""
    differences: list[Difference]
    sentence: Row
    first: Row
    second: Row

    def to_dict(self) -> dict[str, Any]:
        """Returns it in JSON's types."""
        return {
            **self.place._asdict(),
            "tokens": self.sentence["tokens"],
            "share": self.share,
            "differences": [asdict(one) for one in self.differences],
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """The agreement of two parses; scores are of the sentences that have a tree in both."""

    parses: TwoParses
    sentences: int
    compared: int
    refused: dict[str, int]
    """Sentences without a tree: by which parser."""
    identical: int
    scores: dict[str, dict[str, float]]
    """By what counts as equal."""
    by_label: dict[str, Agreement]
    """Relation or label -> how often; most frequent first."""
    exchanged: dict[tuple[str, str], int]
    """What the first and the second call the same arc or span; most frequent first."""
    most_different: list[DifferingSentence]

    def to_dict(self) -> dict[str, Any]:
        """Returns it in JSON's types."""
        return {
            "stage": self.parses.stage,
            "first": str(self.parses.first.path),
            "second": str(self.parses.second.path),
            "shards": list(self.parses.numbers),
            "shards_left_out": list(self.parses.left_out),
            "sentences": self.sentences,
            "compared": self.compared,
            "refused": self.refused,
            "identical": self.identical,
            "scores": self.scores,
            "by_label": {
                name: asdict(one) | {"share": one.share} for name, one in self.by_label.items()
            },
            "exchanged": [
                {"first": one, "second": other, "count": count}
                for (one, other), count in self.exchanged.items()
            ],
            "most_different": [one.to_dict() for one in self.most_different],
        }


def compare(parses: TwoParses, *, most: int, min_length: int) -> Comparison:
    """Returns how far two parses agree.

    Args:
        parses: of the same sentences.
        most: how many of the sentences that differ most are kept.
        min_length: tokens that such a sentence has at least: of two tokens, one is half.

    Raises:
        ValueError: a shard is damaged, or trees have other tokens than their sentence.
    """
    tally: Tally = DependencyTally() if parses.stage == "dependencies" else ConstituentTally()
    column = _COLUMN[parses.stage]
    refused: Counter[str] = Counter()
    worst = _Worst(most)
    num_rows = 0
    for place, sentence, first, second in _rows(parses):
        num_rows += 1
        if first[column] is None or second[column] is None:
            refused[_by_whom(first[column], second[column])] += 1
            continue
        tokens = sentence["tokens"]
        if not len(tokens) == len(first[column]) == len(second[column]):
            raise ValueError(
                f"row {place.row} of shard {place.shard}: trees of other tokens than the "
                "sentence's; `inspect check` says more"
            )
        share = tally.add(tokens, first, second)
        if share and len(tokens) >= min_length:
            worst.add(share, (place, sentence, first, second))
    return Comparison(
        parses,
        sentences=num_rows,
        compared=tally.compared,
        refused=dict(refused),
        identical=tally.identical,
        scores=tally.scores(),
        by_label=dict(sorted(tally.by_label.items(), key=lambda i: (-i[1].first, i[0]))),
        exchanged=dict(sorted(tally.exchanged.items(), key=lambda i: (-i[1], i[0]))),
        most_different=worst.sentences(tally),
    )


_COLUMN = {"dependencies": "heads", "constituents": "tags"}
"""Of each stage, one that has a value a token."""
_AlignedRow = tuple[Place, Row, Row, Row]
"""Where it stands; the sentence; its columns in either parse."""


def _rows(parses: TwoParses) -> Iterator[_AlignedRow]:
    folders = (parses.sentences, parses.first, parses.second)
    for number in parses.numbers:
        for start, tables in groups_side_by_side(folders, number):
            rows = zip(*(table.to_pylist() for table in tables), strict=True)
            for position, (sentence, first, second) in enumerate(rows, start):
                yield Place(number, position), sentence, first, second


def _by_whom(first: object, second: object) -> str:
    if first is None and second is None:
        return BOTH
    return FIRST_ALONE if first is None else SECOND_ALONE


class _Worst:
    """The sentences that differ most; of equal ones those that came first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._num_added = 0
        self._heap: list[tuple[float, int, _AlignedRow]] = []

    def add(self, share: float, row: _AlignedRow) -> None:
        self._num_added += 1
        heapq.heappush(self._heap, (share, -self._num_added, row))
        if len(self._heap) > self._most:
            heapq.heappop(self._heap)

    def sentences(self, tally: Tally) -> list[DifferingSentence]:
        return [
            DifferingSentence(
                place,
                share,
                tally.differences(sentence["tokens"], first, second),
                sentence,
                first,
                second,
            )
            for share, _, (place, sentence, first, second) in sorted(self._heap, reverse=True)
        ]
