"""What is done to a corpus's paragraphs before they are cut into sentences."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import luigi

from treeviews.pipeline.base.atomic_files import RUN_LOCK, sweep_unfinished
from treeviews.pipeline.text.cleaning_steps import PROFILES, CleaningConfig, profile
from treeviews.pipeline.text.find_duplicates import MANIFEST_NAME, signature_path
from treeviews.tasks.artefact import Jobs, ReportingTask, run_job
from treeviews.tasks.parameter_kinds import ChoiceParameter

Runs = Iterable[tuple[int, int]]
"""The first of the parts of each run, and how many they are."""


class CleaningParameters:
    """What is done to paragraphs before they are cut into sentences."""

    cleaning = ChoiceParameter(
        default="none",
        choices=list(PROFILES),
        description="Steps that change or refuse paragraphs before they are cut into sentences; "
        "clean: characters, boilerplate, shape, duplicates, language; needs py3langid.",
    )
    cleaning_changes = luigi.DictParameter(
        default={},
        description='Fields of the cleaning to change, as JSON: \'{"language": ""}\'. '
        "pipeline/text/cleaning_steps.py describes them all.",
    )

    def resolved_cleaning(self) -> CleaningConfig:
        """Returns which steps of cleaning are on.

        Raises:
            ValueError: a change of an unknown field, or out of range.
        """
        return profile(self.cleaning, dict(self.cleaning_changes))


def find_duplicates(
    task: ReportingTask, plan: Path, folder: Path, cleaning: CleaningConfig, runs: Runs
) -> None:
    """Finds which paragraphs of a corpus stand earlier in it, and which lines in many documents.

    Every part is signed, then it is decided; what a killed run has done is not done again.

    Args:
        plan: file with the corpus's plan.
        folder: of signatures and decisions.
        runs: all parts of the plan, in runs that a job signs.
    """
    shared = {"plan": str(plan), "output": str(folder), "config": cleaning.to_dict()}

    def is_signed(number: int) -> bool:
        return signature_path(folder, number).exists() or (folder / MANIFEST_NAME).exists()

    def jobs_left(alone: bool) -> Jobs:
        if alone:
            sweep_unfinished(folder)
        return {
            folder / "jobs" / f"{first:05d}.json": {**shared, "number": first, "count": count}
            for first, count in runs
            if not all(map(is_signed, range(first, first + count)))
        }

    module = "treeviews.pipeline.text.find_duplicates"
    task.share_jobs(folder, module, jobs_left, is_signed, lambda count: f"{count} jobs signed")
    with task.held(folder / RUN_LOCK):
        if not (folder / MANIFEST_NAME).exists():
            path = folder / "jobs" / "duplicates.json"
            run_job(task, module, shared, path, threads=1)
