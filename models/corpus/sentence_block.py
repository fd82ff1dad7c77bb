"""A run of successive sentences as flat arrays, from which batches are cut; their bags of words.

Legend: N sentences, T their tokens together; a sentence of n tokens has n - 1 inner nodes. E is the
dimension of the word vectors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treeviews.models.config.training_config import Shuffled
from treeviews.models.config.views import Pooling
from treeviews.models.words.word_vectors import WordVectors
from treeviews.pipeline.shards.arrow import gather_ranges

MAX_TOKENS = 32_767
"""Of a sentence; as many as shards can number, too, whose heads have 16 bits."""


def hashes(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns well mixed 64-bit numbers (splitmix64, Steele et al. 2014), as int64 that wraps."""
    mixed = (values.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)  # 0 is fixed
    mixed ^= mixed >> np.uint64(30)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed.view(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class SentenceBlock:
    """Sentences in the order of their dataset; gaps between them show in ``sentence_index``."""

    token_ids: NDArray[np.int32]
    """[T]; 0 is the unknown word."""
    offsets: NDArray[np.int64]
    """[N + 1]; sentence i owns the tokens ``offsets[i]:offsets[i + 1]``."""
    documents: NDArray[np.int32]
    """[N]; equal within a document, different between documents of the same block."""
    sentence_index: NDArray[np.int32]
    """[N]; position in the document. Neighbours in the text differ by exactly one."""
    rows: NDArray[np.int64]
    """[N]; row of the dataset, counted over all its shards."""
    heads: NDArray[np.int16] | None = None
    """[T]; 1-based within the sentence, 0 is the root. None unless a view needs it."""
    binary_left: NDArray[np.int16] | None = None
    """[T - N]; see ``pipeline.shards.schema``. None unless a view needs it."""
    binary_right: NDArray[np.int16] | None = None
    """[T - N]."""

    @classmethod
    def of_words(
        cls,
        token_ids: NDArray[np.int32],
        offsets: NDArray[np.int64],
        rows: NDArray[np.int64],
    ) -> SentenceBlock:
        """Returns sentences of one document, without trees."""
        return cls(
            token_ids=token_ids,
            offsets=offsets,
            documents=np.zeros(len(rows), dtype=np.int32),
            sentence_index=np.arange(len(rows), dtype=np.int32),
            rows=rows,
        )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """[N]; tokens of each sentence."""
        return np.diff(self.offsets)

    @property
    def inner_offsets(self) -> NDArray[np.int64]:
        """[N + 1]; sentence i owns the inner nodes ``inner_offsets[i]:inner_offsets[i + 1]``."""
        return self.offsets - np.arange(len(self.offsets))

    def slice(self, start: int, stop: int) -> SentenceBlock:
        """Returns the sentences ``start:stop``; shares memory with this block."""
        tokens = slice(int(self.offsets[start]), int(self.offsets[stop]))
        inner = slice(tokens.start - start, tokens.stop - stop)
        offsets = self.offsets[start : stop + 1] - self.offsets[start]
        return self._part(slice(start, stop), tokens, inner, offsets)

    def take(self, order: NDArray[np.int64]) -> SentenceBlock:
        """Returns the sentences at these positions, in this order."""
        tokens, offsets = gather_ranges(self.offsets, order)
        inner, _ = gather_ranges(self.inner_offsets, order)
        return self._part(order, tokens, inner, offsets)

    def shuffled(self, what: Shuffled) -> SentenceBlock:
        """Returns the sentences, with their words at other places if these are to be shuffled.

        The places are drawn by all of the sentence's own words, so a word has no place of its own.
        """
        if what == "nothing" or not len(self):
            return self
        sentences = np.repeat(np.arange(len(self)), self.lengths)
        places = np.arange(len(self.token_ids)) - self.offsets[sentences]
        words = hashes(self.token_ids.astype(np.int64) * (MAX_TOKENS + 1) + places)
        of_sentence = np.add.reduceat(words, self.offsets[:-1])
        order = np.lexsort((hashes(of_sentence[sentences] + places), sentences))
        return replace(self, token_ids=self.token_ids[order])

    def _part(self, sentences: Any, tokens: Any, inner: Any, offsets: Any) -> SentenceBlock:
        """Returns some sentences.

        Args:
            sentences: where they stand, as numpy takes it; likewise their tokens and inner nodes.
            offsets: of the new block.
        """
        return SentenceBlock(
            token_ids=self.token_ids[tokens],
            offsets=offsets,
            documents=self.documents[sentences],
            sentence_index=self.sentence_index[sentences],
            rows=self.rows[sentences],
            heads=None if self.heads is None else self.heads[tokens],
            binary_left=None if self.binary_left is None else self.binary_left[inner],
            binary_right=None if self.binary_right is None else self.binary_right[inner],
        )


_EXTREMES = {"max": np.maximum, "min": np.minimum}
_GATHERED_AT_ONCE = 4_096
"""Tokens whose vectors are gathered where extremes are looked for; they fit a core's cache."""
_SUMMED_AT_ONCE = 256
"""Sentences whose sums, and a word of each, fit a core's cache."""
MAX_SUMMED_IN_ORDER = 64
"""Words of a sentence; a longer sum loses digits word by word, and less by numpy, in halves."""


def pool_words(
    vectors: WordVectors, block: SentenceBlock, pooling: Pooling = "mean"
) -> NDArray[np.float32]:
    """Returns one vector a sentence, float32 [N, E]; unknown words count as zero vectors.

    Args:
        pooling: words have no last state, so their mean is given for it.
    """
    if pooling in _EXTREMES:
        return _extreme_words(vectors, block, _EXTREMES[pooling])
    means = _summed_words(vectors, block)
    means /= np.maximum(block.lengths, 1)[:, None].astype(np.float32)
    for row in np.flatnonzero(block.lengths > MAX_SUMMED_IN_ORDER).tolist():
        part = block.slice(row, row + 1)
        words = vectors.rows(part.token_ids)
        means[row] = np.add.reduceat(words, [0], axis=0)[0] / len(words)
    return means


def _summed_words(vectors: WordVectors, block: SentenceBlock) -> NDArray[np.float32]:
    """Returns each sentence's sum, float32 [N, E], word after word as torch's embedding bag sums.

    The bits are the same, and torch, which takes a second to import, is not needed.
    """
    sums = np.zeros((len(block), vectors.size), dtype=np.float32)
    by_length = np.argsort(-block.lengths, kind="stable")
    for first in range(0, len(block), _SUMMED_AT_ONCE):
        rows = by_length[first : first + _SUMMED_AT_ONCE]
        starts, lengths = block.offsets[rows], block.lengths[rows]
        own = np.zeros((len(rows), vectors.size), dtype=np.float32)
        words = np.empty_like(own)
        for place in range(min(int(lengths[0]), MAX_SUMMED_IN_ORDER)):
            num = int(np.count_nonzero(lengths > place))
            ids = block.token_ids[starts[:num] + place]
            own[:num] += vectors.rows(ids, out=words[:num])
        sums[rows] = own
    return sums


def _extreme_words(vectors: WordVectors, block: SentenceBlock, of: np.ufunc) -> NDArray[np.float32]:
    """Returns the maximum or minimum of each sentence's word vectors, float32 [N, E]."""
    extremes = np.empty((len(block), vectors.size), dtype=np.float32)
    start = 0
    while start < len(block):
        most = block.offsets[start] + _GATHERED_AT_ONCE
        stop = max(start + 1, int(np.searchsorted(block.offsets, most, side="right")) - 1)
        part = block.slice(start, stop)
        words = vectors.rows(part.token_ids)
        of.reduceat(words, part.offsets[:-1], axis=0, out=extremes[start:stop])
        start = stop
    return extremes
