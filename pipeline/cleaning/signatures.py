"""The signatures of one part's paragraphs, by which those with the same words are found.

A file of one array, 17 bytes a paragraph, sorted so that ranges of hashes are read alone.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.base.atomic_files import write_bytes_atomically
from pipeline.cleaning.config import CleaningConfig
from pipeline.cleaning.shape import ends_a_sentence
from pipeline.cleaning.steps import clean_alone
from pipeline.sources.paragraphs import Document, Paragraph

COMPARED, LINE = 1, 2
"""Kinds of paragraphs, bits of a byte: long enough to be a duplicate; without an end mark."""
SIGNATURE = np.dtype([("hash", "<u8"), ("item", "<u4"), ("document", "<u4"), ("kind", "u1")])
"""Hash of the words, number in the part, hash of the document's name, kind."""

_HASHES = 1 << 64
_WORD = re.compile(r"\w+")

Array = npt.NDArray[Any]


def signature_path(folder: Path, number: int) -> Path:
    """Returns the file of a part's signatures."""
    return folder / f"{number:05d}.signatures"


def write_signatures(path: Path, documents: Iterable[Document], config: CleaningConfig) -> None:
    """Writes the signatures of one part, sorted by hash, then number; whole or not at all.

    Args:
        documents: of the part, not cleaned.
    """
    rows = np.fromiter(_signed(documents, config), SIGNATURE)
    stream = io.BytesIO()
    np.save(stream, rows[np.lexsort((rows["item"], rows["hash"]))], allow_pickle=False)
    write_bytes_atomically(path, stream.getvalue())


def read_signatures(path: Path) -> Array:
    """Returns a part's signatures, mapped: only what is looked at is read.

    Raises:
        FileNotFoundError: no such file.
        ValueError: the file is damaged.
    """
    try:
        rows: Array = np.lib.format.open_memmap(path, mode="r")
    except ValueError as error:
        raise ValueError(f"{path}: damaged ({error}); delete it and run again") from error
    return rows


def _signed(
    documents: Iterable[Document], config: CleaningConfig
) -> Iterator[tuple[int, int, int, int]]:
    """Yields the signature of each paragraph that a step will look for elsewhere."""
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
                yield _hashed(" ".join(words), 8), item, name, kind


def bare_words(text: str) -> list[str]:
    """Returns a text's words in lower case, without punctuation."""
    return _WORD.findall(text.casefold())


def _hashed(text: str, num_bytes: int) -> int:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=num_bytes).digest()
    return int.from_bytes(digest, "little")


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
