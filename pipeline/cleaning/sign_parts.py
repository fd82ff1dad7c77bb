"""Signs the paragraphs of a run of parts: the first half of finding duplicates.

``python -m pipeline.cleaning.sign_parts JOB.json``, whose file holds a `SignJob`. Many such jobs
may work on one folder. A part whose file stands is passed over.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, ClassVar

from pipeline.base.atomic_files import write_json_atomically
from pipeline.base.digest import digest_of
from pipeline.base.job import Progress, run_job_from_command_line
from pipeline.base.json_files import read_object
from pipeline.base.settings import Count, Natural, Settings
from pipeline.cleaning.config import CleaningConfig, describe_cleaning
from pipeline.cleaning.signatures import signature_path, write_signatures
from pipeline.sources.plan import Plan

ORIGIN_NAME = "signed.json"
_REMEDY = "delete the folder of duplicates and run the stage again"


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
    values = read_object(path, (), remedy=_REMEDY)
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
        if read_object(path, tuple(origin), remedy=_REMEDY) != origin:
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
            write_signatures(path, plan.documents(number), job.config)
        if on_progress is not None:
            on_progress(done / job.count, f"signed part {number + 1:,} of {len(plan.parts):,}")


if __name__ == "__main__":
    sys.exit(run_job_from_command_line(SignJob, sign_parts))
