"""How much of a vocabulary a list of words covers, such as that of given word vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.shards.arrow import numbers
from pipeline.vectors.word_index import NOWHERE, WordIndex
from pipeline.vectors.word_list import WordList

MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class CoverageByWords:
    """Types and tokens of a vocabulary; each three add up to all of them."""

    exact_types: int
    lower_cased_types: int
    """Found only after lower-casing, as a token is looked up."""
    unknown_types: int
    exact_tokens: int
    lower_cased_tokens: int
    unknown_tokens: int
    most_frequent_unknown: tuple[str, ...]

    @property
    def share_of_types(self) -> float:
        """Of all types, those that are covered."""
        return 1 - self.unknown_types / max(
            self.exact_types + self.lower_cased_types + self.unknown_types, 1
        )

    @property
    def share_of_tokens(self) -> float:
        """Of all tokens, those that are covered."""
        return 1 - self.unknown_tokens / max(
            self.exact_tokens + self.lower_cased_tokens + self.unknown_tokens, 1
        )


def coverage_by(known: pa.Array, vocabulary: WordList) -> CoverageByWords:
    """Returns how much of a vocabulary these words cover.

    Args:
        known: ``large_string``.
        vocabulary: most frequent words first; without counts each counts once.
    """
    index, words = WordIndex(known), vocabulary.words
    counts = vocabulary.counts
    if counts is None:
        counts = np.ones(len(words), dtype=np.int64)
    exact = index.places(words) != NOWHERE
    lowered = (index.places(pc.utf8_lower(words)) != NOWHERE) & ~exact
    unknown = ~(exact | lowered)
    first = words.take(numbers(np.flatnonzero(unknown)[:MOST_NAMED])).to_pylist()
    return CoverageByWords(
        exact_types=int(exact.sum()),
        lower_cased_types=int(lowered.sum()),
        unknown_types=int(unknown.sum()),
        exact_tokens=int(counts[exact].sum()),
        lower_cased_tokens=int(counts[lowered].sum()),
        unknown_tokens=int(counts[unknown].sum()),
        most_frequent_unknown=tuple(first),
    )
