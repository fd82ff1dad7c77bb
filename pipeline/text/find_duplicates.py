"""Finds which paragraphs of a corpus go because of others: signs every part, then decides.

``python -m treeviews.pipeline.text.find_duplicates JOB.json``, whose file holds a `DuplicatesJob`.
Many jobs may sign parts of one folder; a part whose file stands is passed over. Its file is one
array, 17 bytes a paragraph, sorted so that ranges of hashes are read alone. The decisions, a file a
part and last a manifest, depend on the signatures alone, of which as many are in memory at once as
`AT_ONCE` says, and what goes.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from treeviews.pipeline.base.atomic_files import write_bytes_atomically
from treeviews.pipeline.base.job import Progress, run_from_command_line
from treeviews.pipeline.base.json_files import check_file, read_object, write_sealed_json
from treeviews.pipeline.base.refusal import Refusal
from treeviews.pipeline.base.settings import Count, Natural, Settings
from treeviews.pipeline.text.cleaning_steps import (
    CleaningConfig,
    clean_alone,
    describe_cleaning,
    ends_a_sentence,
)
from treeviews.pipeline.text.documents import Document, Paragraph
from treeviews.pipeline.text.plan import Plan

MANIFEST_NAME = "manifest.json"
REMEDY = "delete the folder of duplicates and run the stage again"
COMPARED, LINE = 1, 2
"""Kinds of paragraphs, bits of a byte: long enough to be a duplicate; without an end mark."""
SIGNATURE = np.dtype([("hash", "<u8"), ("item", "<u4"), ("document", "<u4"), ("kind", "u1")])
"""Hash of the words, number in the part, hash of the document's name, kind."""
AT_ONCE = 1_000_000
"""Paragraphs whose hashes are in memory at once, with some 160 bytes each: 160 MB. All copies of
one text are, however many there are."""
REASONS = ("repeated_line", "exact_duplicate")
DROP = np.dtype([("where", "<u8"), ("reason", "u1"), ("first", "<u8")])
"""A paragraph's place, why it goes, and the place of the one that stays instead, or its own."""
ITEM_BITS = 32
"""Of a paragraph's place in the corpus, a number of 64 bits: its number in its part; above these
the part's. The order of places is the corpus's."""

_HASHES = 1 << 64
_WORD = re.compile(r"\w+")

Array = npt.NDArray[Any]


class DuplicatesJob(Settings):
    """Which parts are signed, or that it is decided what goes of all."""

    called: ClassVar[str] = "duplicates job field"

    plan: Path
    """The file that `pipeline.text.split_corpus.CorpusSplit.begin` wrote."""
    output: Path
    """The folder of the signatures; the decisions go there, too."""
    config: CleaningConfig
    number: Natural | None = None
    """Of the first part to sign; null, when all are signed, to decide."""
    count: Count = 1


def execute(job: DuplicatesJob, on_progress: Progress) -> None:
    """Does what a job says.

    Raises:
        ChangedTextError: the text is not the one of the plan.
        FileNotFoundError: a part is not signed, and it is to be decided; names it.
        ValueError: a file of signatures is damaged.
    """
    plan = Plan.from_dict(read_object(job.plan, ("plan",), remedy=REMEDY)["plan"])
    job.output.mkdir(parents=True, exist_ok=True)
    if job.number is None:
        _decide(plan, job)
        on_progress(1.0, "found the paragraphs with the same words")
        return
    for done, number in enumerate(range(job.number, job.number + job.count), start=1):
        path = signature_path(job.output, number)
        if not path.exists():
            rows = np.fromiter(_signatures(plan.documents(number), job.config), SIGNATURE)
            _write_array(path, rows[np.lexsort((rows["item"], rows["hash"]))])
        on_progress(done / job.count, f"signed part {number + 1:,} of {len(plan.parts):,}")


def _write_array(path: Path, rows: Array) -> None:
    stream = io.BytesIO()
    np.save(stream, rows, allow_pickle=False)
    write_bytes_atomically(path, stream.getvalue())


def signature_path(folder: Path, number: int) -> Path:
    """Returns the file of a part's signatures."""
    return folder / f"{number:05d}.signatures"


def _signatures(
    documents: Iterable[Document], config: CleaningConfig
) -> Iterator[tuple[int, int, int, int]]:
    """Yields the signature of each paragraph that a step will look for elsewhere."""
    item = -1
    for document in documents:
        name = _hashed(document.document_id, 4)
        for given in document.paragraphs:
            item += 1
            content, _ = clean_alone(given, config)
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


def _decide(plan: Plan, job: DuplicatesJob) -> None:
    """Writes which paragraphs go, a file a part, and last the manifest.

    Begun anew after a kill, as it takes less time than signing.
    """
    num_parts = len(plan.parts)
    drops = _find_drops(job.output, num_parts, job.config)
    ends = np.searchsorted(drops["where"], [np.uint64(n << ITEM_BITS) for n in range(1, num_parts)])
    files = [drops_path(job.output, number) for number in range(num_parts)]
    for path, rows in zip(files, np.split(drops, ends), strict=True):
        _write_array(path, rows)
    numbers = np.bincount(drops["reason"], minlength=len(REASONS)).tolist()
    described = {
        "corpus": plan.source.describe(),
        "cleaning": describe_cleaning(job.config),
        "parts": num_parts,
        "drops": {reason: n for reason, n in zip(REASONS, numbers, strict=True) if n},
    }
    write_sealed_json(job.output / MANIFEST_NAME, described, files)


def _find_drops(folder: Path, num_parts: int, config: CleaningConfig) -> Array:
    """Returns the paragraphs with the words of an earlier one, and the lines of many documents.

    Args:
        folder: of the signatures.
        num_parts: that were signed.
    """
    drops = [np.empty(0, DROP)]
    total = sum(len(_signatures_of(folder, number)) for number in range(num_parts))
    num_ranges = max(-(-total // AT_ONCE), 1)
    bounds = [number * _HASHES // num_ranges for number in range(num_ranges + 1)]
    for low, high in pairwise(bounds):
        rows, where = _rows_between(folder, num_parts, low, high - 1)
        if not len(rows):
            continue
        begins = np.flatnonzero(np.diff(rows["hash"], prepend=~rows["hash"][:1]))
        group = np.repeat(np.arange(len(begins)), np.diff(begins, append=len(rows)))
        repeated = _repeated(rows, group, len(begins), config.repeated_in)
        drops.append(_drops_at(where[repeated], "repeated_line", where[repeated]))
        compared = np.flatnonzero(((rows["kind"] & COMPARED) != 0) & ~repeated)
        first_of, firsts = np.unique(group[compared], return_index=True)
        stays = where[compared[firsts]][np.searchsorted(first_of, group[compared])]
        goes = where[compared] != stays
        drops.append(_drops_at(where[compared][goes], "exact_duplicate", stays[goes]))
    return np.sort(np.concatenate(drops), order="where")


def _repeated(rows: Array, group: Array, num_groups: int, least: int) -> npt.NDArray[np.bool_]:
    """Returns which rows are lines whose words stand as lines in so many documents."""
    lines = (rows["kind"] & LINE) != 0
    if not least:
        return np.zeros(len(rows), np.bool_)
    pairs = np.stack([group[lines], rows["document"][lines].astype(np.int64)], axis=1)
    num_documents = np.bincount(np.unique(pairs, axis=0)[:, 0], minlength=num_groups)
    repeated: npt.NDArray[np.bool_] = lines & (num_documents[group] >= least)
    return repeated


def _drops_at(where: Array, reason: str, first: Array) -> Array:
    rows = np.empty(len(where), DROP)
    rows["where"], rows["reason"], rows["first"] = where, REASONS.index(reason), first
    return rows


def _rows_between(folder: Path, num_parts: int, low: int, high: int) -> tuple[Array, Array]:
    """Returns the signatures with a hash from ``low`` to ``high``, and their places in the corpus.

    Sorted by hash, then place.
    """
    rows, where = [], []
    for number in range(num_parts):
        signed = _signatures_of(folder, number)
        first = np.searchsorted(signed["hash"], np.uint64(low))
        end = np.searchsorted(signed["hash"], np.uint64(high), side="right")
        rows.append(np.array(signed[first:end]))
        where.append(np.uint64(number << ITEM_BITS) | rows[-1]["item"].astype(np.uint64))
    all_rows = np.concatenate(rows)
    order = np.argsort(all_rows["hash"], kind="stable")
    return all_rows[order], np.concatenate(where)[order]


def _signatures_of(folder: Path, number: int) -> Array:
    """Returns a part's signatures, mapped: only what is looked at is read.

    Raises:
        FileNotFoundError: no such file.
        ValueError: the file is damaged.
    """
    path = signature_path(folder, number)
    try:
        rows: Array = np.lib.format.open_memmap(path, mode="r")
    except ValueError as error:
        raise ValueError(f"{path}: damaged ({error}); delete it and run again") from error
    return rows


def drops_path(folder: Path, number: int) -> Path:
    """Returns the file that says which paragraphs of a part go."""
    return folder / f"{number:05d}.duplicates.npy"


def duplicates_of(folder: Path, number: int) -> dict[int, Refusal]:
    """Returns what goes of a part, by its number among the part's paragraphs and refusals.

    Args:
        folder: of the decisions.

    Raises:
        FileNotFoundError: the duplicates were not found yet.
        ValueError: a file is damaged; names it and the remedy.
    """
    path = drops_path(folder, number)
    check_file(path, read_object(folder / MANIFEST_NAME, ("parts",), remedy=REMEDY), REMEDY)
    rows = np.load(path, allow_pickle=False)
    return {int(row["where"]) % (1 << ITEM_BITS): _refusal(number, row) for row in rows}


def _refusal(part: int, row: Any) -> Refusal:
    reason = REASONS[int(row["reason"])]
    if reason == "repeated_line":
        return Refusal(reason, "a line without an end mark that many documents have (repeated_in)")
    first_part, item = divmod(int(row["first"]), 1 << ITEM_BITS)
    where = "this part" if first_part == part else f"part {first_part}"
    detail = f"the words of paragraph {item} of {where}, counted from 0 (duplicates)"
    return Refusal(reason, detail)


if __name__ == "__main__":
    sys.exit(run_from_command_line(execute, kind=DuplicatesJob))
