"""Near duplicates among signed paragraphs: pairs by bands, compared, joined; the first stays."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.cleaning.decisions import DropFiles, parts_and_items, places
from pipeline.cleaning.minhash import BANDS, HASHES, similarities
from pipeline.cleaning.signatures import Signatures, between, hash_ranges, signature_path

NEIGHBOURS = 32
"""Of paragraphs that agree in a band, each is compared with so many before it, in the corpus's
order. So a phrase that a million share costs no million comparisons each."""
PAIRS_AT_ONCE = 200_000
"""Compared at once: 90 MB."""
_JOINED_AT_ONCE = 10_000
_OPEN_FILES = 256

Array = npt.NDArray[Any]


def drop_near(
    folder: Path, num_parts: int, threshold: float, drops: DropFiles, scratch: Path, at_once: int
) -> None:
    """Finds paragraphs with nearly the words of an earlier one.

    What `drops` has already is passed over: it is neither found nor does it stay for another.

    Args:
        folder: of the signatures.
        num_parts: that were signed.
        threshold: least estimated Jaccard similarity.
        drops: takes what goes.
        scratch: a folder for files of this run.
        at_once: paragraphs whose keys are in memory at once.
    """
    search, clusters = _Search(folder, num_parts, scratch), Clusters()
    search.note_what_is_left(drops)
    for band in range(BANDS):
        for low, high in hash_ranges(search.total, at_once):
            for found in search.pairs(band, low, high):
                unknown = found[clusters.are_apart(found)]
                clusters.join(unknown[search.similarities(unknown) >= threshold])
    goes, stays = clusters.members()
    drops.add(search.where(goes), "near_duplicate", search.where(stays))


class Clusters:
    """Sets of paragraphs that pairs join; of each is kept, in memory, who its first is."""

    def __init__(self) -> None:
        self._goes = self._stays = np.empty(0, np.uint64)
        self._pairs: list[Array] = []
        self._num_pairs = 0

    def are_apart(self, pairs: Array) -> npt.NDArray[np.bool_]:
        """Returns of which pairs it is not known yet that they are in one set."""
        apart: npt.NDArray[np.bool_] = self._first_of(pairs[:, 0]) != self._first_of(pairs[:, 1])
        return apart

    def join(self, pairs: Array) -> None:
        """Joins pairs, shape (pairs, 2); not at once, so that few are not joined by themselves."""
        self._pairs.append(pairs)
        self._num_pairs += len(pairs)
        if self._num_pairs > max(len(self._goes) // 4, _JOINED_AT_ONCE):
            self.members()

    def members(self) -> tuple[Array, Array]:
        """Returns all but the first of each set, in order, and each one's first."""
        if self._num_pairs:
            known = np.stack([self._stays, self._goes], axis=1)
            self._goes, self._stays = joined(np.concatenate([known, *self._pairs]))
            self._pairs, self._num_pairs = [], 0
        return self._goes, self._stays

    def _first_of(self, paragraphs: Array) -> Array:
        if not len(self._goes):
            return paragraphs
        places_of = np.searchsorted(self._goes, paragraphs).clip(max=len(self._goes) - 1)
        return np.where(self._goes[places_of] == paragraphs, self._stays[places_of], paragraphs)


def joined(pairs: Array) -> tuple[Array, Array]:
    """Returns all but the first of each set that pairs join, in order, and each one's first.

    Args:
        pairs: of uint64, shape (pairs, 2).
    """
    nodes, ends = np.unique(pairs, return_inverse=True)
    left, right = ends.reshape(pairs.shape).T
    first = np.arange(len(nodes))
    while True:
        lowest = first.copy()
        least = np.minimum(first[left], first[right])
        for end in (left, right):
            np.minimum.at(lowest, end, least)
            np.minimum.at(lowest, first[end], least)
        lowest = lowest[lowest]
        if np.array_equal(lowest, first):
            break
        first = lowest
    goes = first != np.arange(len(nodes))
    return nodes[goes], nodes[first[goes]]


class _Search:
    """The signatures of all parts. A paragraph is known by its part and its row there."""

    def __init__(self, folder: Path, num_parts: int, scratch: Path) -> None:
        self._num_parts, self._scratch = num_parts, scratch
        self._opened = lru_cache(_OPEN_FILES)(
            lambda number: Signatures.opened(signature_path(folder, number))
        )
        self.total = 0

    def note_what_is_left(self, drops: DropFiles) -> None:
        """Notes, a file a part, which paragraphs are not dropped yet."""
        for number in range(self._num_parts):
            items = self._opened(number).items
            self.total += len(items)
            is_left = ~np.isin(items, drops.of(number)["item"])
            np.save(self._left_path(number), is_left, allow_pickle=False)

    def _left_path(self, number: int) -> Path:
        return self._scratch / f"{number:05d}.left.npy"

    def pairs(self, band: int, low: int, high: int) -> Iterator[Array]:
        """Yields pairs that agree in a band, whose key lies in a range, in pieces."""
        keys, where = self._keys_between(band, low, high)
        for distance in range(1, NEIGHBOURS + 1):
            found = np.flatnonzero(keys[:-distance] == keys[distance:])
            if not len(found):
                return
            for begin in range(0, len(found), PAIRS_AT_ONCE):
                piece = found[begin : begin + PAIRS_AT_ONCE]
                yield np.stack([where[piece], where[piece + distance]], axis=1)

    def _keys_between(self, band: int, low: int, high: int) -> tuple[Array, Array]:
        keys, where = [], []
        for number in range(self._num_parts):
            rows = self._opened(number).bands[band]
            found = np.array(rows[between(rows["key"], low, high)])
            found = found[np.load(self._left_path(number))[found["row"]]]
            keys.append(found["key"])
            where.append(places(number, found["row"]))
        all_keys = np.concatenate(keys)
        order = np.argsort(all_keys, kind="stable")
        return all_keys[order], np.concatenate(where)[order]

    def similarities(self, pairs: Array) -> npt.NDArray[np.float64]:
        """Returns the estimated similarities of pairs."""
        paragraphs, ends = np.unique(pairs, return_inverse=True)
        parts, rows = parts_and_items(paragraphs)
        hashes = np.empty((len(paragraphs), HASHES), np.uint16)
        for number in np.unique(parts):
            of_part = parts == number
            hashes[of_part] = self._opened(int(number)).hashes[rows[of_part]]
        first, second = ends.reshape(pairs.shape).T
        return similarities(hashes[first], hashes[second])

    def where(self, paragraphs: Array) -> Array:
        """Returns the places in the corpus of paragraphs."""
        parts, rows = parts_and_items(paragraphs)
        found = np.empty(len(paragraphs), np.uint64)
        for number in np.unique(parts):
            of_part = parts == number
            found[of_part] = places(int(number), self._opened(int(number)).items[rows[of_part]])
        return found
