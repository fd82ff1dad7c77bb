"""Tasks that find what stands twice in a corpus, before it is cut into sentences."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import luigi

from pipeline.base.atomic_files import RUN_LOCK, sweep_unfinished
from pipeline.text.cleaning_steps import PROFILES, CleaningConfig, profile
from pipeline.text.find_duplicates import MANIFEST_NAME
from pipeline.text.sign_parts import signature_path
from tasks.artefact import ReportingTask, run_job
from tasks.shard_jobs import ShardJob, handed_out


class CleaningParameters:
    """What is done to paragraphs before they are cut into sentences."""

    cleaning = luigi.ChoiceParameter(
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


class SignParts(ShardJob):
    """Signs the paragraphs of parts.

    Input: the corpus's plan. Output: a file of signatures a part.
    """

    job_module = "pipeline.text.sign_parts"

    plan = luigi.PathParameter(description="File with the corpus's plan.")
    cleaning = luigi.DictParameter(description="All fields of the cleaning.")

    def output(self) -> luigi.LocalTarget:
        """Returns the last part's signatures."""
        last = self.number + self.count - 1
        return luigi.LocalTarget(str(signature_path(self.destination, last)))

    def is_made(self, number: int) -> bool:
        """Returns whether the signatures of a part are there."""
        return signature_path(self.destination, number).exists()

    def job(self) -> dict[str, Any]:
        """Returns where the plan is, where signatures go, and what is cleaned."""
        return _job_of(self)


class FindDuplicates(ReportingTask):
    """Finds which paragraphs of a corpus stand earlier in it, and which lines in many documents.

    Input: the corpus's plan. Output: a file a part with what goes, and last the manifest.
    """

    plan = luigi.PathParameter(description="File with the corpus's plan.")
    destination = luigi.PathParameter(description="Folder of signatures and decisions.")
    cleaning = luigi.DictParameter(description="All fields of the cleaning.")
    runs = luigi.ListParameter(
        significant=False,
        description="Runs of parts that a job signs, as [[first, count], …]; all parts together.",
    )

    def output(self) -> luigi.LocalTarget:
        """Returns the manifest, which is written last."""
        return luigi.LocalTarget(str(self.destination / MANIFEST_NAME))

    def run(self) -> Iterator[list[SignParts]]:
        """Has all parts signed, then decides; where another run is at it, takes its result."""
        shared = {name: getattr(self, name) for name in ("plan", "destination", "cleaning")}
        parts = [SignParts(number=first, count=count, **shared) for first, count in self.runs]
        if not all(part.complete() for part in parts):
            with self.handing_out(self.destination) as alone:
                if alone:
                    sweep_unfinished(self.destination)
                parts = handed_out(parts, alone=alone)
            yield parts
        with self.held(self.destination / RUN_LOCK):
            if not self.complete():
                path = self.destination / "jobs" / "duplicates.json"
                run_job(self, "pipeline.text.find_duplicates", _job_of(self), path, threads=1)


def _job_of(task: SignParts | FindDuplicates) -> dict[str, Any]:
    """Returns what the jobs of both tasks have in common."""
    return {
        "plan": str(Path(task.plan)),
        "output": str(Path(task.destination)),
        "config": dict(task.cleaning),
    }
