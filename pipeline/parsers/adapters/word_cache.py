"""Vectors that words get from their spelling alone, each computed once and kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

WORDS_AT_ONCE = 256
"""Words that are read at a time, always."""

ReadWords = Callable[[list[str], int], Tensor]
"""Returns the vectors ``[256, D]`` of 256 words in an array so many characters wide."""


class WordCache:
    """Remembers the vectors of the words of earlier batches, up to a number of words.

    Words are always read in arrays of the same shapes: a matrix product rounds its last bits by
    its shape, and a word's vector must not depend on which words were read before.
    """

    def __init__(self, read: ReadWords, *, table: Tensor, widths: Sequence[int]) -> None:
        """Starts empty.

        Args:
            read: its answer for a word must not depend on the 255 others.
            table: ``[capacity, D]``, overwritten; its device is the vectors'. One that was written
                to takes its memory now rather than page by page over a corpus.
            widths: ascending; a word stands in an array of the first width that it fits, and by
                as many characters as the last one has.
        """
        self._read, self._table, self._widths = read, table, widths
        self._rows: dict[str, int] = {}

    def __len__(self) -> int:
        """Returns the number of words that are kept."""
        return len(self._rows)

    def remember(self, words: Iterable[str]) -> None:
        """Reads those words that are missing and have room."""
        missing = self._missing(words)
        self._fill(missing[: len(self._table) - len(self._rows)])

    def vectors(self, words: Sequence[str]) -> Tensor:
        """Returns ``[len(words), D]``, also of repeated words; a full cache is emptied first.

        Raises:
            ValueError: more distinct words than the cache has room for.
        """
        missing = self._missing(words)
        if len(self._rows) + len(missing) > len(self._table):
            self._rows.clear()
            missing = self._missing(words)
            if len(missing) > len(self._table):
                raise ValueError(f"{len(missing)} distinct words in a cache of {len(self._table)}")
        self._fill(missing)
        rows = torch.tensor([self._rows[word] for word in words], device=self._table.device)
        return self._table.index_select(0, rows)

    def _missing(self, words: Iterable[str]) -> list[str]:
        return [word for word in dict.fromkeys(words) if word not in self._rows]

    def _fill(self, words: Sequence[str]) -> None:
        shorter = -1
        for width in self._widths:
            is_last = width == self._widths[-1]
            group = [w for w in words if shorter < len(w) and (is_last or len(w) <= width)]
            shorter = width
            for start in range(0, len(group), WORDS_AT_ONCE):
                self._store(group[start : start + WORDS_AT_ONCE], width)

    def _store(self, words: list[str], width: int) -> None:
        filled = words + words[:1] * (WORDS_AT_ONCE - len(words))
        vectors = self._read([word[: self._widths[-1]] for word in filled], width)
        first = len(self._rows)
        self._table[first : first + len(words)] = vectors[: len(words)]
        self._rows.update({word: first + row for row, word in enumerate(words)})
