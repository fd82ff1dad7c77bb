"""Decides which paragraphs of a corpus go because of others: the second half, after `sign_parts`.

``python -m pipeline.cleaning.find_duplicates JOB.json``, whose file holds a `DuplicatesJob`.
First those with the same words are found, then, of what is left, those with nearly the same: pairs
that agree in a band are compared, and of those that a chain of such pairs joins the first stays.

Memory is bounded: of the signatures, which lie on disk sorted, as many are read at once as
`AT_ONCE` says, and the numbers of those that are near duplicates. The result depends on the
signatures alone.
"""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pipeline.base.config_fields import Config
from pipeline.base.job import Progress, run_job_from_command_line
from pipeline.base.json_files import write_sealed_json
from pipeline.cleaning.config import CleaningConfig
from pipeline.cleaning.decisions import (
    MANIFEST_NAME,
    DropFiles,
    drops_path,
    places,
    write_drops,
)
from pipeline.cleaning.near import drop_near
from pipeline.cleaning.sign_parts import claim, read_plan
from pipeline.cleaning.signatures import (
    COMPARED,
    LINE,
    Signatures,
    between,
    hash_ranges,
    signature_path,
)

AT_ONCE = 1_000_000
"""Paragraphs whose hashes are in memory at once, with some 160 bytes each: 160 MB. All copies of
one text are, however many there are."""

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class DuplicatesJob(Config):
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
    scratch = job.output / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    drops = DropFiles(scratch)
    drop_exact(job.output, num_parts, job.config, drops)
    told(0.3, "found the paragraphs with the same words")
    if job.config.duplicates == "near":
        drop_near(job.output, num_parts, job.config.near_threshold, drops, scratch, AT_ONCE)
    told(0.9, "found the paragraphs with nearly the same words")
    counts = Counter[str]()
    for number in range(num_parts):
        counts += write_drops(job.output, number, drops.of(number))
    files = [drops_path(job.output, number) for number in range(num_parts)]
    write_sealed_json(job.output / MANIFEST_NAME, described | {"drops": dict(counts)}, files)
    shutil.rmtree(scratch)


def drop_exact(folder: Path, num_parts: int, config: CleaningConfig, drops: DropFiles) -> None:
    """Finds paragraphs with the same words as an earlier one, and lines of many documents.

    Args:
        folder: of the signatures.
        num_parts: that were signed.
        drops: takes what goes.
    """
    total = sum(len(_exact_of(folder, number)) for number in range(num_parts))
    for low, high in hash_ranges(total, AT_ONCE):
        rows, where = _rows_between(folder, num_parts, low, high)
        if not len(rows):
            continue
        begins = np.flatnonzero(np.diff(rows["hash"], prepend=~rows["hash"][:1]))
        group = np.repeat(np.arange(len(begins)), np.diff(begins, append=len(rows)))
        repeated = _repeated(rows, group, len(begins), config.repeated_in)
        _add(drops, where[repeated], "repeated_line", where[repeated])
        compared = np.flatnonzero(((rows["kind"] & COMPARED) != 0) & ~repeated)
        first_of, firsts = np.unique(group[compared], return_index=True)
        stays = where[compared[firsts]][np.searchsorted(first_of, group[compared])]
        goes = where[compared] != stays
        _add(drops, where[compared][goes], "exact_duplicate", stays[goes])


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


def _add(drops: DropFiles, where: Array, reason: str, first: Array) -> None:
    order = np.argsort(where)
    drops.add(where[order], reason, first[order])


def _exact_of(folder: Path, number: int) -> Array:
    return Signatures.opened(signature_path(folder, number)).exact


def _rows_between(folder: Path, num_parts: int, low: int, high: int) -> tuple[Array, Array]:
    """Returns the rows of a range of hashes, and their places; sorted by hash, then place."""
    rows, where = [], []
    for number in range(num_parts):
        exact = _exact_of(folder, number)
        found = np.array(exact[between(exact["hash"], low, high)])
        rows.append(found)
        where.append(places(number, found["item"]))
    all_rows = np.concatenate(rows)
    order = np.argsort(all_rows["hash"], kind="stable")
    return all_rows[order], np.concatenate(where)[order]


if __name__ == "__main__":
    sys.exit(run_job_from_command_line(DuplicatesJob, find_duplicates))
