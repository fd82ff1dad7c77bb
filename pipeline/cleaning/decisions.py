"""Which paragraphs go because of others in the corpus: collected on disk, then one file a part."""

from __future__ import annotations

import io
from collections import Counter
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.base.atomic_files import write_bytes_atomically
from pipeline.base.json_files import check_file, read_object
from pipeline.base.refusal import Refusal

MANIFEST_NAME = "manifest.json"
REASONS = ("repeated_line", "exact_duplicate", "near_duplicate")
DROP = np.dtype([("item", "<u4"), ("reason", "u1"), ("first", "<u8")])
ITEM_BITS = 32
"""Of a paragraph's place in the corpus, a number of 64 bits: its number in its part; above these
the part's. The order of places is the corpus's."""
_REMEDY = "delete the folder of duplicates and run the stage again"

Array = npt.NDArray[Any]


def places(part: int, items: Array) -> Array:
    """Returns the places in the corpus of some paragraphs of a part."""
    return (np.uint64(part) << np.uint64(ITEM_BITS)) | items.astype(np.uint64)


def parts_and_items(found: Array) -> tuple[Array, Array]:
    """Returns the parts and the numbers in them that places stand for."""
    parts = found >> np.uint64(ITEM_BITS)
    items = found & np.uint64((1 << ITEM_BITS) - 1)
    return parts.astype(np.int64), items.astype(np.uint32)


def drops_path(folder: Path, number: int) -> Path:
    """Returns the file that says which paragraphs of a part go."""
    return folder / f"{number:05d}.duplicates.npy"


class DropFiles:
    """What goes, as it is found: a file a part, appended to, in a folder of this run alone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, where: Array, reason: str, first: Array) -> None:
        """Notes paragraphs that go.

        Args:
            where: their places in the corpus, in order.
            reason: one of `REASONS`.
            first: place of the paragraph that stays in each one's stead, or its own.
        """
        parts, items = parts_and_items(where)
        bounds = np.flatnonzero(np.diff(parts, prepend=-1, append=-1))
        for begin, end in pairwise(bounds):
            rows = np.empty(end - begin, DROP)
            rows["item"], rows["first"] = items[begin:end], first[begin:end]
            rows["reason"] = REASONS.index(reason)
            with self._path(parts[begin]).open("ab") as stream:
                stream.write(rows.tobytes())

    def of(self, number: int) -> Array:
        """Returns what goes of a part, in order."""
        path = self._path(number)
        rows = np.fromfile(path, DROP) if path.exists() else np.empty(0, DROP)
        return rows[np.argsort(rows["item"], kind="stable")]

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:05d}.drops"


def write_drops(folder: Path, number: int, rows: Array) -> Counter[str]:
    """Writes which paragraphs of a part go; returns how many, by reason."""
    stream = io.BytesIO()
    np.save(stream, rows, allow_pickle=False)
    write_bytes_atomically(drops_path(folder, number), stream.getvalue())
    counts = np.bincount(rows["reason"], minlength=len(REASONS))
    return Counter({reason: int(n) for reason, n in zip(REASONS, counts, strict=True) if n})


class Duplicates:
    """What goes of a corpus, a part at a time; the manifest, which lists all parts, is read once.

    Args:
        folder: of the decisions; they need not stand before a part is asked for.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def _manifest(self) -> dict[str, Any]:
        return read_object(self._folder / MANIFEST_NAME, ("fingerprint",), remedy=_REMEDY)

    def of(self, number: int) -> dict[int, Refusal]:
        """Returns what goes of a part, as `steps.clean_documents` takes it.

        Raises:
            FileNotFoundError: the duplicates were not found yet.
            ValueError: a file is damaged; names it and the remedy.
        """
        path = drops_path(self._folder, number)
        check_file(path, self._manifest, _REMEDY)
        rows = np.load(path, allow_pickle=False)
        return {int(row["item"]): _refusal(number, row) for row in rows}


def _refusal(part: int, row: Any) -> Refusal:
    reason = REASONS[int(row["reason"])]
    if reason == "repeated_line":
        return Refusal(reason, "a line without an end mark that many documents have (repeated_in)")
    (first_part,), (item,) = parts_and_items(row["first"].reshape(1))
    where = "this part" if first_part == part else f"part {first_part}"
    like = "the words" if reason == "exact_duplicate" else "nearly the words"
    return Refusal(reason, f"{like} of paragraph {item} of {where}, counted from 0 (duplicates)")
