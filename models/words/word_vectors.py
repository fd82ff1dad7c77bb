"""Pretrained word vectors, the lookup of a column of tokens, and how much each word weighs.

Legend: V words, id 0 included; E dimensions.

Id 0 is the unknown word and its vector is zero (Tang & de Sa 2018, section 4: "out-of-vocabulary
words are set to 0").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from treeviews.pipeline.shards.arrow import flags, numbers, strings, values_of
from treeviews.pipeline.vectors.foreign_vectors import TextReader, format_of, open_unpacked
from treeviews.pipeline.vectors.vector_folder import (
    REMEDY,
    VectorTable,
    checksum_of,
    open_folder,
    read_width,
    rms_of,
)
from treeviews.pipeline.vectors.word_lists import WordIndex

_BLOCK_ROWS = 65_536

UNKNOWN_ID = 0
UNKNOWN_WORD = ""
"""Stands at id 0; no token of a corpus is empty, so no token can be mistaken for it."""
ZIPF_SHIFT = 2.7
"""Of Zipf's law as Mandelbrot wrote it, p ~ 1 / (rank + shift), for words (Piantadosi 2014)."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How the tokens of a column were found; the three add up to all tokens."""

    exact: int = 0
    lower_cased: int = 0
    """Found only after lower-casing."""
    unknown: int = 0

    @property
    def known_share(self) -> float:
        """Share of tokens with a vector; 0 where there are no tokens."""
        known = self.exact + self.lower_cased
        return known / (known + self.unknown) if known else 0.0

    def __add__(self, other: Coverage) -> Coverage:
        return Coverage(*map(sum, zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words and their vectors.

    The table of a folder is its file, mapped: what is looked up is what is read, so that millions
    of words cost the memory of those that are used. It keeps the folder's own precision.
    """

    index: WordIndex
    """The V - 1 known words; the word of id i stands at place i - 1."""
    matrix: NDArray[np.floating[Any]]
    """[V, E]; row 0 is zero. Before `factors`: `rows` and `blocks` give the vectors."""
    counts: NDArray[np.int64] | None = None
    """[V]; how often each word stands in the text that the vectors were trained on, 0 of the
    unknown one; None where the file does not say."""
    opened: VectorTable | None = None
    """The folder that they are of."""
    factors: tuple[NDArray[np.float32], ...] = ()
    """Each [] or [V, 1]; see `times`."""

    @classmethod
    def from_rows(
        cls,
        words: Sequence[str] | pa.Array,
        rows: NDArray[np.float32],
        *,
        counts: NDArray[np.int64] | None = None,
    ) -> WordVectors:
        """Returns the vectors of known words behind the zero row of the unknown one.

        Args:
            words: the known ones, V - 1.
            rows: float32 [V - 1, E], a vector per word.
            counts: [V - 1], or None.
        """
        unknown = np.zeros((1, rows.shape[1]), dtype=np.float32)
        matrix = np.concatenate([unknown, rows.astype(np.float32, copy=False)])
        arrow = words if isinstance(words, pa.Array) else strings(words)
        return cls(WordIndex(arrow), matrix, _with_unknown(counts))

    def __post_init__(self) -> None:
        assert len(self.index) + 1 == len(self.matrix), f"{len(self.index)} words and the unknown"
        assert not self.matrix[UNKNOWN_ID].any(), "id 0 is the unknown word, and zero"
        assert self.counts is None or len(self.counts) == len(self.matrix)

    def first(self, num_words: int) -> WordVectors:
        """Returns the first words of the file, the most frequent ones in all files that are usual.

        Args:
            num_words: the unknown word not counted; all words if there are not so many.
        """
        counts = None if self.counts is None else self.counts[: num_words + 1]
        index = WordIndex(self.index.words.slice(0, num_words))
        factors = tuple(f[: num_words + 1] if f.ndim else f for f in self.factors)
        return WordVectors(index, self.matrix[: num_words + 1], counts=counts, factors=factors)

    def times(self, factors: Sequence[NDArray[np.float32]]) -> WordVectors:
        """Returns the same words, whose vectors are multiplied by each of these in turn.

        Of a mapped table that is done where rows are read, of another one at once.

        Args:
            factors: each [] or [V, 1].
        """
        if self.is_mapped:
            return replace(self, factors=(*self.factors, *factors))
        table = _times(self.matrix.astype(np.float32), (*self.factors, *factors), slice(None))
        return replace(self, matrix=table, factors=(), opened=None)

    @property
    def num_words(self) -> int:
        """V, the unknown word counted."""
        return len(self.matrix)

    @property
    def is_mapped(self) -> bool:
        """Whether the table is a file's, read where somebody looks."""
        return self.opened is not None and self.opened.mapped is not None

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All V words, by id, ``words[0]`` the unknown one; made where somebody asks for it."""
        return (UNKNOWN_WORD, *self.index.words.to_pylist())

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
        first, second = (
            WordVectors(self.index, part, counts=self.counts, factors=self.factors)
            for part in parts
        )
        return first, second

    @property
    def size(self) -> int:
        """E, the dimensions of a vector."""
        return int(self.matrix.shape[1])

    def rows(
        self, ids: NDArray[np.integer[Any]], out: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """Returns the vectors of some ids, float32 [N, E].

        Args:
            ids: [N], each below V.
            out: where they are written, float32 [N, E].
        """
        if self.matrix.dtype == np.float32:
            rows: NDArray[np.float32] = np.take(self.matrix, ids, axis=0, out=out, mode="clip")
        else:
            rows = np.empty((len(ids), self.size), dtype=np.float32) if out is None else out
            rows[:] = self.matrix[ids]
        return _times(rows, self.factors, ids)

    def blocks(self) -> Iterator[NDArray[np.floating[Any]]]:
        """Yields all rows in order, some at a time, that of the unknown word alone first.

        A mapped table is read beside its map.
        """
        mapped = None if self.opened is None else self.opened.mapped
        # In blocks: double precision for two million vectors at once would be gigabytes.
        edges = [0, *range(1, self.num_words, _BLOCK_ROWS), self.num_words]
        own = (self.matrix[start:stop] for start, stop in pairwise(edges))
        start = 0
        for block in own if mapped is None else mapped.blocks():
            rows = slice(start, start + len(block))
            yield _times(block.astype(np.float32), self.factors, rows) if self.factors else block
            start = rows.stop

    @cached_property
    def rms(self) -> float:
        """Root mean square of a component over all known words; 0 without words."""
        noted = self._noted("vectors_rms")
        return noted if isinstance(noted, float) else rms_of(self.blocks())

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
        blocks = (block.astype(np.float32, copy=False) for block in self.blocks())
        lengths: NDArray[np.float32] = np.concatenate(
            [np.linalg.norm(block, axis=1) for block in blocks]
        )
        return np.where(lengths > 0, lengths, np.float32(1))

    @cached_property
    def checksum(self) -> str:
        """sha256 over words, values and, if known, counts; equal vectors give equal checksums."""
        noted = self._noted("vectors_checksum")
        if isinstance(noted, str):
            return noted
        counts = None if self.counts is None else self.counts[1:]
        return checksum_of(self.index.words, self.matrix.shape, self.blocks(), counts)

    def _noted(self, name: str) -> Any:
        """Returns what the folder says of its table, whose openers need not read it whole."""
        if self.opened is None or not self.is_mapped or self.factors:
            return None
        return self.opened.facts.get(name)

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
        nowhere_is_unknown = np.int32(1)  # a place from -1 on becomes an id from 0 on
        distinct_ids = self.index.places(encoded.dictionary) + nowhere_is_unknown
        is_exact = distinct_ids != UNKNOWN_ID
        if not is_exact.all():
            others = pc.utf8_lower(encoded.dictionary.filter(flags(~is_exact)))
            distinct_ids[~is_exact] = self.index.places(others) + nowhere_is_unknown
        indices = values_of(encoded.indices)
        counts = np.bincount(indices, minlength=len(distinct_ids))
        num_exact = int(counts[is_exact].sum())
        num_known = int(counts[distinct_ids != UNKNOWN_ID].sum())
        coverage = Coverage(num_exact, num_known - num_exact, len(indices) - num_known)
        return distinct_ids[indices], coverage


def _times(
    rows: NDArray[np.float32],
    factors: Sequence[NDArray[np.float32]],
    of: slice | NDArray[np.integer[Any]],
) -> NDArray[np.float32]:
    """Multiplies rows in place by each of some factors, and returns them.

    Args:
        rows: [N, E].
        factors: each [] or [V, 1].
        of: which of the V rows these are.
    """
    for factor in factors:
        rows *= factor[of] if factor.ndim else factor
    return rows


def _with_unknown(counts: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
    return None if counts is None else np.concatenate([[0], counts.astype(np.int64)])


def load_word_vectors(path: Path, *, whole: bool = False) -> WordVectors:
    """Returns the word vectors of a folder or of a text file.

    A folder's table is mapped. A text file is read whole: what is used more than once is better
    imported (`pipeline.vectors.import_vectors`).

    Args:
        path: a folder, see `pipeline.vectors.vector_folder`; or UTF-8 text, packed or not, a word
            and its numbers a line (GloVe), optionally under a header of two counts (word2vec).
        whole: a folder's table is held against its sha256 however large it is.

    Raises:
        FileNotFoundError: nothing there.
        ValueError: the content is broken; the message names file and line.
    """
    if path.is_dir():
        table = open_folder(path, whole=whole)
        counts = _with_unknown(table.counts)
        return WordVectors(WordIndex(table.words), table.rows, counts, table)
    with _open_text(path) as reader:
        return _read_all(path, reader)


def read_word_size(path: Path) -> int:
    """Returns the dimension of a word vector, of which no other is read; arguments as above.

    Raises:
        FileNotFoundError, ValueError: as `load_word_vectors`, of what is read.
    """
    if path.is_dir():
        return read_width(path)
    with _open_text(path) as reader:
        return reader.width


@contextmanager
def _open_text(path: Path) -> Iterator[TextReader]:
    """Yields the reader of a text file.

    Raises:
        FileNotFoundError: nothing there.
        ValueError: it is no text.
    """
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such word vectors; give a folder or a text file")
    if (format_ := format_of(path)) != "text":
        raise ValueError(
            f"{path}: not text but {format_}'s own format: make a folder of it "
            f"(treeviews vectors import {path} --out FOLDER) and give that"
        )
    with open_unpacked(path) as stream:
        yield TextReader(path, stream)


def _read_all(path: Path, reader: TextReader) -> WordVectors:
    """Returns all rows of a text; refuses the first line that is malformed."""
    words, rows = [], []
    for block in reader.blocks():
        for row in block.refused:
            raise ValueError(f"{path}:{row.position}: {row.detail}; {REMEDY}")
        words.append(block.words)
        rows.append(block.rows)
    index = WordIndex(pa.chunked_array(words, pa.large_string()))
    kept, table = index.distinct_places(), np.concatenate(rows)
    listed = index.words
    if len(kept) < len(index):
        listed, table = listed.take(numbers(kept)), table[kept]
    return WordVectors.from_rows(listed, table)


def word_probabilities(vectors: WordVectors) -> NDArray[np.float64]:
    """Returns the probability of each word, float64 [V], 0 of the unknown one.

    It is that of the vectors' own counts. A file without counts is taken to hold the most frequent
    words first, as all files that are usual do, and their probabilities to follow Zipf's law.

    Raises:
        ValueError: counts that are all zero.
    """
    if vectors.counts is None:
        masses = 1.0 / (np.arange(vectors.num_words, dtype=np.float64) + ZIPF_SHIFT)
        masses[0] = 0.0
    else:
        masses = vectors.counts.astype(np.float64)
    total = masses.sum()
    if len(masses) > 1 and not total > 0:
        raise ValueError("the counts of the word vectors are all zero; train them again")
    probabilities: NDArray[np.float64] = masses / (total or 1.0)
    return probabilities


def sif_weights(vectors: WordVectors, a: float) -> NDArray[np.float32]:
    """Returns the weight of each word in a sentence, smooth inverse frequency: float32 [V], (0, 1].

    Arora, Liang & Ma 2017, equation 3: a word of probability p weighs a / (a + p), so that frequent
    words, which say little, count little.

    Args:
        a: above 0; the probability at which a word weighs a half (Arora et al.: 1e-3 to 1e-4).
    """
    weights: NDArray[np.float32] = (a / (a + word_probabilities(vectors))).astype(np.float32)
    return weights
