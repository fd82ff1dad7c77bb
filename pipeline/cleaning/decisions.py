"""Which paragraphs go because of others in the corpus: a file a part."""

from __future__ import annotations

import io
from collections import Counter
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.base.atomic_files import write_bytes_atomically
from pipeline.base.json_files import check_file, read_object
from pipeline.base.refusal import Refusal

MANIFEST_NAME = "manifest.json"
REASONS = ("repeated_line", "exact_duplicate")
DROP = np.dtype([("where", "<u8"), ("reason", "u1"), ("first", "<u8")])
"""A paragraph's place, why it goes, and the place of the one that stays instead, or its own."""
ITEM_BITS = 32
"""Of a paragraph's place in the corpus, a number of 64 bits: its number in its part; above these
the part's. The order of places is the corpus's."""
_REMEDY = "delete the folder of duplicates and run the stage again"

Array = npt.NDArray[Any]


def places(part: int, items: Array) -> Array:
    """Returns the places in the corpus of some paragraphs of a part."""
    return (np.uint64(part) << np.uint64(ITEM_BITS)) | items.astype(np.uint64)


def drops_at(where: Array, reason: str, first: Array) -> Array:
    """Returns paragraphs that go for one reason, of `DROP`."""
    rows = np.empty(len(where), DROP)
    rows["where"], rows["reason"], rows["first"] = where, REASONS.index(reason), first
    return rows


def of_part(drops: Array, number: int) -> Array:
    """Returns what goes of one part; all are in order."""
    bounds = [np.uint64(part << ITEM_BITS) for part in (number, number + 1)]
    return drops[slice(*np.searchsorted(drops["where"], bounds))]


def drops_path(folder: Path, number: int) -> Path:
    """Returns the file that says which paragraphs of a part go."""
    return folder / f"{number:05d}.duplicates.npy"


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
        return {_part_and_item(row["where"])[1]: _refusal(number, row) for row in rows}


def _part_and_item(place: Any) -> tuple[int, int]:
    return divmod(int(place), 1 << ITEM_BITS)


def _refusal(part: int, row: Any) -> Refusal:
    reason = REASONS[int(row["reason"])]
    if reason == "repeated_line":
        return Refusal(reason, "a line without an end mark that many documents have (repeated_in)")
    first_part, item = _part_and_item(row["first"])
    where = "this part" if first_part == part else f"part {first_part}"
    detail = f"the words of paragraph {item} of {where}, counted from 0 (duplicates)"
    return Refusal(reason, detail)
