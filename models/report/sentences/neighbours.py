"""Which sentences stand nearest to a few chosen ones, by each view.

Legend: m sentences that are searched, q queries, H width of a view.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.search.exact import search

FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A sentence that was found."""

    sentence: str
    cosine: float


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """What one view finds near each query."""

    view: str
    """In words: ``DEP, trained``."""
    found: tuple[tuple[Neighbour, ...], ...]
    """Of each query, the nearest first; none of a query whose vector is zero."""


def spread_queries(sentences: Sequence[str], wanted: int) -> list[int]:
    """Returns places of sentences whose lengths are spread over those of all.

    Of sentences ordered by their tokens and then their text, those in the middle of as many equal
    parts; the same for the same sentences, in whatever order they come.
    """
    ordered = sorted(range(len(sentences)), key=lambda i: (sentences[i].count(" "), sentences[i]))
    wanted = min(wanted, len(ordered))
    return [ordered[(2 * part + 1) * len(ordered) // (2 * wanted)] for part in range(wanted)]


def nearest(
    view: str,
    queries: tuple[Sequence[str], FloatArray],
    searched: tuple[Sequence[str], FloatArray],
    k: int,
) -> Neighbourhood:
    """Returns the k nearest sentences of each query by cosine, itself and its equals left out.

    To zeros, which stand for a refused sentence, all are as near: none is given.

    Args:
        view: what found them, in words.
        queries: the sentences and their vectors [q, H].
        searched: the same of those that are searched, [m, H].
        k: how many.
    """
    texts, vectors = searched
    answerable = set(without_zeros(queries[1]).tolist())
    copies = max((sum(text == query for text in texts) for query in queries[0]), default=0)
    hits = search(queries[1], vectors, k + copies)
    found: list[tuple[Neighbour, ...]] = []
    asked = zip(queries[0], hits.rows, hits.scores, strict=True)
    for place, (query, rows, scores) in enumerate(asked):
        if place not in answerable:
            found.append(())
            continue
        others = [
            Neighbour(texts[row], round(float(score), 3))
            for row, score in zip(rows, scores, strict=True)
            if texts[row] != query
        ]
        found.append(tuple(others[:k]))
    return Neighbourhood(view, tuple(found))


def as_json(found: Neighbourhood) -> Mapping[str, object]:
    """Returns it as values of JSON."""
    return {
        "view": found.view,
        "found": [[[one.sentence, one.cosine] for one in hits] for hits in found.found],
    }


def of_json(value: Mapping[str, object]) -> Neighbourhood:
    """Returns it from what `as_json` gave."""
    rows = value["found"]
    assert isinstance(rows, list)
    found = tuple(tuple(Neighbour(str(s), float(c)) for s, c in hits) for hits in rows)
    return Neighbourhood(str(value["view"]), found)


def without_zeros(vectors: FloatArray) -> npt.NDArray[np.int64]:
    """Returns the places of vectors that are not zero, as those of refused sentences are."""
    return np.flatnonzero(np.abs(vectors).max(axis=1) > 0)
