"""The signatures of one part's paragraphs: a file of arrays, sorted so that ranges are read alone.

Of a paragraph 17 bytes, and for near duplicates 396 more.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.base.atomic_files import write_bytes_atomically
from pipeline.cleaning.config import CleaningConfig
from pipeline.cleaning.minhash import BANDS, HASHES, band_keys, min_hashes
from pipeline.cleaning.shape import ends_a_sentence
from pipeline.cleaning.steps import clean_alone
from pipeline.sources.paragraphs import Document, Paragraph

COMPARED, LINE = 1, 2
"""Kinds of paragraphs, bits of a byte: long enough to be a duplicate; without an end mark."""
EXACT = np.dtype([("hash", "<u8"), ("item", "<u4"), ("document", "<u4"), ("kind", "u1")])
BAND = np.dtype([("key", "<u8"), ("row", "<u4")])
_AT_ONCE = 1024

_HASHES = 1 << 64
_WORD = re.compile(r"\w+")

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Signatures:
    """What is known of a part's paragraphs."""

    exact: Array
    """Of `EXACT`: hash of the words, number in the part, hash of the document's name, kind; sorted
    by hash, then number."""
    items: Array
    """Of uint32, shape (n,): numbers in the part of the paragraphs that follow."""
    hashes: Array
    """Of uint16, shape (n, `HASHES`): the low bits of their MinHash."""
    bands: Array
    """Of `BAND`, shape (`BANDS`, n): key of a band and index among the n; each sorted by key."""

    def write(self, path: Path) -> None:
        """Writes the file, which appears whole or not at all."""
        stream = io.BytesIO()
        for array in (self.exact, self.items, self.hashes, self.bands):
            np.save(stream, array, allow_pickle=False)
        write_bytes_atomically(path, stream.getvalue())

    @classmethod
    def opened(cls, path: Path) -> Signatures:
        """Returns a file's arrays, mapped: only what is looked at is read.

        Raises:
            FileNotFoundError: no such file.
            ValueError: the file is damaged.
        """
        try:
            with path.open("rb") as stream:
                return cls(*[_mapped(stream, path) for _ in range(4)])
        except ValueError as error:
            raise ValueError(f"{path}: damaged ({error}); delete it and run again") from error


def _mapped(stream: io.BufferedReader, path: Path) -> Array:
    version = np.lib.format.read_magic(stream)
    if version != (1, 0):
        raise ValueError(f"an array of version {version}")
    shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    if 0 in shape:
        return np.empty(shape, dtype)
    begin = stream.tell()
    mapped = np.memmap(path, dtype, "r", offset=begin, shape=shape)
    stream.seek(begin + mapped.nbytes)
    return mapped


def signature_path(folder: Path, number: int) -> Path:
    """Returns the file of a part's signatures."""
    return folder / f"{number:05d}.signatures"


def sign(documents: Iterable[Document], config: CleaningConfig) -> Signatures:
    """Returns the signatures of one part.

    Args:
        documents: of the part, not cleaned.

    Raises:
        ModuleNotFoundError: near duplicates need a library that is not installed.
    """
    exact: list[Array] = []
    items: list[Array] = []
    hashes: list[Array] = []
    bands: list[Array] = [np.empty((BANDS, 0), np.uint64)]
    signed = _signed(documents, config)
    while batch := list(islice(signed, _AT_ONCE)):
        exact.append(np.array([row for row, _ in batch], EXACT))
        if config.duplicates != "near":
            continue
        compared = [(row[1], words) for row, words in batch if row[3] & COMPARED]
        found = min_hashes([words for _, words in compared])
        items.append(np.array([item for item, _ in compared], np.uint32))
        hashes.append(found.astype(np.uint16))
        bands.append(band_keys(found))
    rows = np.concatenate(exact) if exact else np.empty(0, EXACT)
    return Signatures(
        rows[np.lexsort((rows["item"], rows["hash"]))],
        np.concatenate(items) if items else np.empty(0, np.uint32),
        np.concatenate(hashes) if hashes else np.empty((0, HASHES), np.uint16),
        _sorted_bands(np.concatenate(bands, axis=1)),
    )


def _signed(
    documents: Iterable[Document], config: CleaningConfig
) -> Iterator[tuple[tuple[int, int, int, int], list[str]]]:
    """Yields each paragraph that a step will look for elsewhere: its row of `EXACT`, its words."""
    item = -1
    for document in clean_alone(documents, config):
        name = _hashed(document.document_id, 4)
        for content in document.paragraphs:
            item += 1
            if not isinstance(content, Paragraph):
                continue
            words = bare_words(content.text)
            long_enough = len(words) >= config.min_duplicate_words
            kind = COMPARED if config.duplicates != "none" and long_enough else 0
            if config.repeated_in and words and not ends_a_sentence(content.text):
                kind |= LINE
            if kind:
                yield (_hashed(" ".join(words), 8), item, name, kind), words


def bare_words(text: str) -> list[str]:
    """Returns a text's words in lower case, without punctuation."""
    return _WORD.findall(text.casefold())


def _hashed(text: str, num_bytes: int) -> int:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=num_bytes).digest()
    return int.from_bytes(digest, "little")


def _sorted_bands(keys: Array) -> Array:
    bands = np.empty(keys.shape, BAND)
    order = np.argsort(keys, axis=1, kind="stable")
    bands["key"] = np.take_along_axis(keys, order, axis=1)
    bands["row"] = order
    return bands


def hash_ranges(total: int, at_once: int) -> Iterator[tuple[int, int]]:
    """Yields ranges of hashes, half-open, that have about so many of all each."""
    count = max(-(-total // at_once), 1)
    for number in range(count):
        yield number * _HASHES // count, (number + 1) * _HASHES // count


def between(sorted_hashes: Array, low: int, high: int) -> slice:
    """Returns where the hashes of a half-open range stand."""
    begin = int(np.searchsorted(sorted_hashes, np.uint64(low)))
    if high == _HASHES:
        return slice(begin, len(sorted_hashes))
    return slice(begin, int(np.searchsorted(sorted_hashes, np.uint64(high))))
