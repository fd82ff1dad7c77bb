"""The job that makes the sentence shards of a run of parts.

``python -m pipeline.text.split_parts JOB.json``, whose file holds a `SplitJob`. Shards that stand
are passed over, so that a run that was killed goes on where it was.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import ClassVar

from pipeline.base.job import Progress, Rated, run_job_from_command_line
from pipeline.base.json_files import read_object
from pipeline.base.settings import Count, Natural, Settings
from pipeline.cleaning.config import CleaningConfig
from pipeline.shards.manifests import ShardRange
from pipeline.sources.plan import Plan
from pipeline.text.split import ALL, PartSplitter
from pipeline.text.tokenization import SentenceConfig

DUPLICATES_FOLDER = "duplicates"
"""Beside the plan: what goes as it stands elsewhere in the corpus, too."""
REMEDY = "delete it and run the stage again"
"""For a plan that cannot be read."""


class SplitJob(Settings):
    """Which parts to split, and where their shards go."""

    called: ClassVar[str] = "split job field"

    plan: Path
    """The file that `pipeline.text.split_corpus.CorpusSplit.begin` wrote."""
    output: Path
    number: Natural
    count: Count = 1


def execute(job: SplitJob, on_progress: Progress) -> None:
    """Makes the shards of the parts that a job names.

    Raises:
        ChangedTextError: the text is not the one of the plan.
    """
    splitter = planned_splitter(job.plan, job.output)
    run = ShardRange(job.number, job.count)
    split_run(splitter, run, on_progress, len(splitter.plan.parts))


def planned_splitter(plan: Path, output: Path) -> PartSplitter:
    """Returns what splits the parts of a plan.

    Args:
        plan: the file that `pipeline.text.split_corpus.CorpusSplit.begin` wrote.
        output: folder of the shards.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is damaged, or of another release.
    """
    needed = ("fingerprint", "config", "cleaning", "plan")
    values = read_object(plan, needed, remedy=REMEDY)
    return PartSplitter(
        Plan.from_dict(values["plan"]),
        SentenceConfig.from_dict(values["config"]),
        output,
        values["fingerprint"],
        cleaning=CleaningConfig.from_dict(values["cleaning"]),
        duplicates=plan.parent / DUPLICATES_FOLDER,
    )


def split_run(
    splitter: PartSplitter, run: ShardRange, on_progress: Progress | None, total: int
) -> None:
    """Makes the shards of a run of parts; those that stand are passed over."""
    rows, started = 0, time.monotonic()
    for done, number in enumerate(range(run.number, run.number + run.num_shards), start=1):
        rows += splitter.split(number, limit=ALL).rows
        if on_progress is not None:
            status = f"{rows:,} sentences of part {number + 1:,} of {total:,}"
            rate = rows / max(time.monotonic() - started, 1e-9)
            on_progress(done / run.num_shards, Rated(status, rate))


if __name__ == "__main__":
    sys.exit(run_job_from_command_line(SplitJob, execute))
