"""Signs the paragraphs of a run of parts: the first half of finding duplicates.

``python -m treeviews.pipeline.text.sign_parts JOB.json``, whose file holds a `SignJob`.
Many such jobs may
work on one folder. A part whose file stands is passed over. Its file is one array, 17 bytes a
paragraph, sorted so that ranges of hashes are read alone.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from treeviews.pipeline.base.atomic_files import write_bytes_atomically, write_json_atomically
from treeviews.pipeline.base.digest import digest_of
from treeviews.pipeline.base.job import Progress, run_job_from_command_line
from treeviews.pipeline.base.json_files import read_object
from treeviews.pipeline.base.settings import Count, Natural, Settings
from treeviews.pipeline.text.cleaning_steps import (
    CleaningConfig,
    clean_alone,
    describe_cleaning,
    ends_a_sentence,
)
from treeviews.pipeline.text.documents import Document, Paragraph
from treeviews.pipeline.text.plan import Plan

ORIGIN_NAME = "signed.json"
REMEDY = "delete the folder of duplicates and run the stage again"
COMPARED, LINE = 1, 2
"""Kinds of paragraphs, bits of a byte: long enough to be a duplicate; without an end mark."""
SIGNATURE = np.dtype([("hash", "<u8"), ("item", "<u4"), ("document", "<u4"), ("kind", "u1")])
"""Hash of the words, number in the part, hash of the document's name, kind."""

_WORD = re.compile(r"\w+")


class SignJob(Settings):
    """Which parts to sign, and where their signatures go."""

    called: ClassVar[str] = "sign job field"

    plan: Path
    """A file with what `Plan.to_dict` gives, by itself or as ``plan`` of an object."""
    output: Path
    config: CleaningConfig
    number: Natural
    """Of the first part."""
    count: Count = 1


def read_plan(path: Path) -> Plan:
    """Returns the plan in a file.

    Raises:
        FileNotFoundError: no such file.
        ValueError: it holds none, or one of another release.
    """
    values = read_object(path, (), remedy=REMEDY)
    return Plan.from_dict(values.get("plan", values))


def claim(folder: Path, plan: Plan, config: CleaningConfig) -> dict[str, Any]:
    """Makes a folder one of a plan's duplicates; returns what determines its content.

    Raises:
        ValueError: it is of another plan, other settings or other releases.
    """
    parts = {"source": plan.source.describe(), "parts": plan.to_dict()["parts"]}
    described = {"plan": digest_of(parts), "cleaning": describe_cleaning(config)}
    origin = {"fingerprint": digest_of(described), "parts": len(plan.parts)}
    path = folder / ORIGIN_NAME
    if path.exists():
        if read_object(path, tuple(origin), remedy=REMEDY) != origin:
            raise ValueError(
                f"{folder}: holds the signatures of another text or of other cleaning; delete it "
                "or choose another one"
            )
    else:
        folder.mkdir(parents=True, exist_ok=True)
        write_json_atomically(path, origin)
    return described | origin


def sign_parts(job: SignJob, on_progress: Progress | None = None) -> None:
    """Writes the signatures of the parts that a job names.

    Raises:
        ChangedTextError: the text is not the one of the plan.
        ValueError: the folder holds signatures of something else.
    """
    plan = read_plan(job.plan)
    claim(job.output, plan, job.config)
    for done, number in enumerate(range(job.number, job.number + job.count), start=1):
        path = signature_path(job.output, number)
        if not path.exists():
            rows = np.fromiter(_signatures(plan.documents(number), job.config), SIGNATURE)
            stream = io.BytesIO()
            np.save(stream, rows[np.lexsort((rows["item"], rows["hash"]))], allow_pickle=False)
            write_bytes_atomically(path, stream.getvalue())
        if on_progress is not None:
            on_progress(done / job.count, f"signed part {number + 1:,} of {len(plan.parts):,}")


def signature_path(folder: Path, number: int) -> Path:
    """Returns the file of a part's signatures."""
    return folder / f"{number:05d}.signatures"


def _signatures(
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


if __name__ == "__main__":
    sys.exit(run_job_from_command_line(SignJob, sign_parts))
