"""Decides which paragraphs of a corpus go because of others: the second half, after `sign_parts`.

``python -m pipeline.cleaning.find_duplicates JOB.json``, whose file holds a `DuplicatesJob`. The
result depends on the signatures alone, of which as many are in memory at once as `AT_ONCE` says,
and what goes.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pipeline.base.job import Progress, run_job_from_command_line
from pipeline.base.json_files import write_sealed_json
from pipeline.base.settings import Settings
from pipeline.cleaning.config import CleaningConfig
from pipeline.cleaning.decisions import (
    DROP,
    MANIFEST_NAME,
    drops_at,
    drops_path,
    of_part,
    places,
    write_drops,
)
from pipeline.cleaning.sign_parts import claim, read_plan
from pipeline.cleaning.signatures import (
    COMPARED,
    LINE,
    between,
    hash_ranges,
    read_signatures,
    signature_path,
)

AT_ONCE = 1_000_000
"""Paragraphs whose hashes are in memory at once, with some 160 bytes each: 160 MB. All copies of
one text are, however many there are."""

Array = npt.NDArray[Any]


class DuplicatesJob(Settings):
    """What was signed, and how."""

    called: ClassVar[str] = "duplicates job field"

    plan: Path
    """As of `SignJob`."""
    output: Path
    """The folder of the signatures; the decisions go there, too."""
    config: CleaningConfig


def find_duplicates(job: DuplicatesJob, on_progress: Progress | None = None) -> None:
    """Writes which paragraphs go, a file a part, and last the manifest; a standing one is left.

    Begun anew after a kill, as it takes less time than signing.

    Raises:
        FileNotFoundError: a part is not signed; names it.
        ValueError: the folder holds signatures of something else, or damaged ones.
    """
    if (job.output / MANIFEST_NAME).exists():
        return
    told: Progress = on_progress or (lambda *_: None)
    described = claim(job.output, read_plan(job.plan), job.config)
    num_parts = described["parts"]
    if missing := [n for n in range(num_parts) if not signature_path(job.output, n).exists()]:
        raise FileNotFoundError(
            f"{signature_path(job.output, missing[0])}: not signed yet; run the stage again"
        )
    drops = find_drops(job.output, num_parts, job.config)
    told(0.9, "found the paragraphs with the same words")
    counts = Counter[str]()
    for number in range(num_parts):
        counts += write_drops(job.output, number, of_part(drops, number))
    files = [drops_path(job.output, number) for number in range(num_parts)]
    write_sealed_json(job.output / MANIFEST_NAME, described | {"drops": dict(counts)}, files)


def find_drops(folder: Path, num_parts: int, config: CleaningConfig) -> Array:
    """Returns the paragraphs with the words of an earlier one, and the lines of many documents.

    Args:
        folder: of the signatures.
        num_parts: that were signed.
    """
    found = [np.empty(0, DROP)]
    total = sum(len(_signatures_of(folder, number)) for number in range(num_parts))
    for low, high in hash_ranges(total, AT_ONCE):
        rows, where = _rows_between(folder, num_parts, low, high)
        if not len(rows):
            continue
        begins = np.flatnonzero(np.diff(rows["hash"], prepend=~rows["hash"][:1]))
        group = np.repeat(np.arange(len(begins)), np.diff(begins, append=len(rows)))
        repeated = _repeated(rows, group, len(begins), config.repeated_in)
        found.append(drops_at(where[repeated], "repeated_line", where[repeated]))
        compared = np.flatnonzero(((rows["kind"] & COMPARED) != 0) & ~repeated)
        first_of, firsts = np.unique(group[compared], return_index=True)
        stays = where[compared[firsts]][np.searchsorted(first_of, group[compared])]
        goes = where[compared] != stays
        found.append(drops_at(where[compared][goes], "exact_duplicate", stays[goes]))
    drops = np.concatenate(found)
    return drops[np.argsort(drops["where"])]


def _repeated(rows: Array, group: Array, num_groups: int, least: int) -> npt.NDArray[np.bool_]:
    """Returns which rows are lines whose words stand as lines in so many documents."""
    lines = (rows["kind"] & LINE) != 0
    if not least:
        return np.zeros(len(rows), np.bool_)
    in_documents = np.unique(
        np.stack([group[lines], rows["document"][lines].astype(np.int64)], axis=1), axis=0
    )
    num_documents = np.bincount(in_documents[:, 0], minlength=num_groups)
    found: npt.NDArray[np.bool_] = lines & (num_documents[group] >= least)
    return found


def _signatures_of(folder: Path, number: int) -> Array:
    return read_signatures(signature_path(folder, number))


def _rows_between(folder: Path, num_parts: int, low: int, high: int) -> tuple[Array, Array]:
    """Returns the rows of a range of hashes, and their places; sorted by hash, then place."""
    rows, where = [], []
    for number in range(num_parts):
        signed = _signatures_of(folder, number)
        found = np.array(signed[between(signed["hash"], low, high)])
        rows.append(found)
        where.append(places(number, found["item"]))
    all_rows = np.concatenate(rows)
    order = np.argsort(all_rows["hash"], kind="stable")
    return all_rows[order], np.concatenate(where)[order]


if __name__ == "__main__":
    sys.exit(run_job_from_command_line(DuplicatesJob, find_duplicates))
