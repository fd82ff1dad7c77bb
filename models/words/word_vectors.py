"""Pretrained word vectors and the vectorised lookup of a column of tokens.

Legend: V words, id 0 included; E dimensions.

Id 0 is the unknown word and its vector is zero (Tang & de Sa 2018, section 4: "out-of-vocabulary
words are set to 0").
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pipeline.shards.arrow import flags, values_of

_BLOCK_ROWS = 65_536

UNKNOWN_ID = 0
UNKNOWN_WORD = ""
"""Stands at id 0; no token of a corpus is empty, so no token can be mistaken for it."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How the tokens of a column were found; the three add up to all tokens."""

    exact: int = 0
    lower_cased: int = 0
    """Found only after lower-casing."""
    unknown: int = 0

    @property
    def tokens(self) -> int:
        """All tokens looked up."""
        return self.exact + self.lower_cased + self.unknown

    @property
    def known_share(self) -> float:
        """Share of tokens with a vector; 0 where there are no tokens."""
        return (self.exact + self.lower_cased) / self.tokens if self.tokens else 0.0

    def __add__(self, other: Coverage) -> Coverage:
        return Coverage(
            exact=self.exact + other.exact,
            lower_cased=self.lower_cased + other.lower_cased,
            unknown=self.unknown + other.unknown,
        )


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words and their vectors."""

    words: tuple[str, ...]
    """Length V; ``words[0]`` is the unknown word."""
    matrix: NDArray[np.float32]
    """[V, E]; row 0 is zero."""
    num_duplicates: int = 0
    """Rows of the file that repeated a word; the first one counts."""
    counts: NDArray[np.int64] | None = None
    """[V]; how often each word stands in the text that the vectors were trained on, 0 of the
    unknown one; None where the file does not say."""

    @classmethod
    def from_rows(
        cls,
        words: Iterable[str],
        rows: NDArray[np.float32],
        *,
        num_duplicates: int = 0,
        counts: NDArray[np.int64] | None = None,
    ) -> WordVectors:
        """Returns the vectors of known words behind the zero row of the unknown one.

        Args:
            rows: float32 [V - 1, E], a vector per word.
            counts: [V - 1], or None.
        """
        unknown = np.zeros((1, rows.shape[1]), dtype=np.float32)
        matrix = np.concatenate([unknown, rows.astype(np.float32, copy=False)])
        return cls.of_table(words, matrix, num_duplicates=num_duplicates, counts=counts)

    @classmethod
    def of_table(
        cls,
        words: Iterable[str],
        matrix: NDArray[np.float32],
        *,
        num_duplicates: int = 0,
        counts: NDArray[np.int64] | None = None,
    ) -> WordVectors:
        """Returns the vectors of known words, taken over with the unknown one's row.

        Args:
            matrix: float32 [V, E]; row 0 is zero.
            counts: of the known words, [V - 1], or None.
        """
        if counts is not None:
            counts = np.concatenate([[0], counts.astype(np.int64)])
        return cls((UNKNOWN_WORD, *words), matrix, num_duplicates, counts)

    def __post_init__(self) -> None:
        if len(self.words) != len(self.matrix):
            raise ValueError(f"{len(self.words)} words but {len(self.matrix)} vectors")
        if self.words[:1] != (UNKNOWN_WORD,) or self.matrix[UNKNOWN_ID].any():
            raise ValueError("id 0 must be the unknown word with a zero vector")
        if self.counts is not None and len(self.counts) != len(self.words):
            raise ValueError(f"{len(self.words)} words but {len(self.counts)} counts")

    def first(self, num_words: int) -> WordVectors:
        """Returns the first words of the file, the most frequent ones in all files that are usual.

        Args:
            num_words: the unknown word not counted; all words if there are not so many.
        """
        stop = num_words + 1
        counts = None if self.counts is None else self.counts[:stop]
        return WordVectors(self.words[:stop], self.matrix[:stop], counts=counts)

    def halves(self) -> tuple[WordVectors, WordVectors]:
        """Returns the same words with the first and with the second half of each vector.

        Raises:
            ValueError: the vectors have no halves.
        """
        if self.size % 2:
            raise ValueError(
                f"word vectors of {self.size} dimensions are no two tables side by side; give "
                "those that the model was made with"
            )
        middle = self.size // 2
        parts = (self.matrix[:, :middle], self.matrix[:, middle:])
        first, second = (WordVectors(self.words, part, counts=self.counts) for part in parts)
        return first, second

    @property
    def size(self) -> int:
        """E, the dimensions of a vector."""
        return int(self.matrix.shape[1])

    @cached_property
    def rms(self) -> float:
        """Root mean square of a component over all known words; 0 without words."""
        known = self.matrix[1:]
        # In blocks: double precision for two million vectors at once would be gigabytes.
        total = sum(
            float(np.square(known[start : start + _BLOCK_ROWS], dtype=np.float64).sum())
            for start in range(0, len(known), _BLOCK_ROWS)
        )
        return float(np.sqrt(total / known.size)) if known.size else 0.0

    def scale_to(self, target_rms: float, *, unit: bool = False) -> float:
        """Returns the factor that gives the vectors this root mean square.

        Args:
            unit: they are first divided by their `lengths`.

        Raises:
            ValueError: all vectors are zero.
        """
        if self.rms == 0:
            raise ValueError("word vectors that are all zero cannot be scaled")
        return target_rms / (self.size**-0.5 if unit else self.rms)

    @cached_property
    def lengths(self) -> NDArray[np.float32]:
        """Length of each vector, [V]; 1 for a vector of zeros, which so stays one."""
        lengths: NDArray[np.float32] = np.linalg.norm(self.matrix, axis=1)
        return np.where(lengths > 0, lengths, np.float32(1))

    @cached_property
    def checksum(self) -> str:
        """sha256 over words, values and, if known, counts; equal vectors give equal checksums."""
        digest = hashlib.sha256("\n".join(self.words).encode())
        digest.update(str(self.matrix.shape).encode())
        digest.update(np.ascontiguousarray(self.matrix, dtype="<f4").data)
        if self.counts is not None:
            digest.update(np.ascontiguousarray(self.counts, dtype="<i8").tobytes())
        return digest.hexdigest()

    @cached_property
    def _id_of_word(self) -> dict[str, int]:
        last_first = zip(reversed(self.words), reversed(range(len(self.words))), strict=True)
        return dict(last_first)  # of a word that stands twice the first one counts

    def token_ids(self, tokens: pa.Array | pa.ChunkedArray) -> tuple[NDArray[np.int32], Coverage]:
        """Returns the id of every token of a string column, and how they were found.

        A token is looked up as it stands, then lower-cased, else it is unknown. Only distinct
        tokens are looked up.

        Args:
            tokens: Arrow strings of length T without nulls.

        Returns:
            int32 [T], and the coverage over the T tokens.
        """
        encoded = tokens.combine_chunks() if isinstance(tokens, pa.ChunkedArray) else tokens
        encoded = encoded.dictionary_encode()
        distinct_ids = self._look_up(encoded.dictionary)
        is_exact = distinct_ids != UNKNOWN_ID
        others = encoded.dictionary.filter(flags(~is_exact))
        distinct_ids[~is_exact] = self._look_up(pc.utf8_lower(others))
        indices = values_of(encoded.indices)
        counts = np.bincount(indices, minlength=len(distinct_ids))
        num_exact = int(counts[is_exact].sum())
        num_known = int(counts[distinct_ids != UNKNOWN_ID].sum())
        coverage = Coverage(num_exact, num_known - num_exact, len(indices) - num_known)
        return distinct_ids[indices], coverage

    def _look_up(self, words: pa.Array) -> NDArray[np.int32]:
        found = map(self._id_of_word.get, words.to_pylist(), repeat(UNKNOWN_ID))
        return np.fromiter(found, np.int32, len(words))
