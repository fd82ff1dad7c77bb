"""Tasks that find what stands twice in a corpus, before it is cut into sentences."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import luigi

from pipeline.base.atomic_files import RUN_LOCK, sweep_unfinished
from pipeline.cleaning.config import PROFILES, CleaningConfig, profile
from pipeline.cleaning.decisions import MANIFEST_NAME
from pipeline.cleaning.signatures import signature_path
from tasks.artefact import ReportingTask, run_job


class CleaningParameters:
    """What is done to paragraphs before they are cut into sentences."""

    cleaning = luigi.ChoiceParameter(
        default="none",
        choices=list(PROFILES),
        description="Steps that change or refuse paragraphs before they are cut into sentences; "
        "clean: characters, boilerplate, shape, duplicates, language; needs rensa and py3langid.",
    )
    cleaning_changes = luigi.DictParameter(
        default={},
        description='Fields of the cleaning to change, as JSON: \'{"language": ""}\'. '
        "pipeline/cleaning/config.py describes them all.",
    )

    def resolved_cleaning(self) -> CleaningConfig:
        """Returns which steps of cleaning are on.

        Raises:
            ValueError: a change of an unknown field, or out of range.
        """
        return profile(self.cleaning, dict(self.cleaning_changes))


class SignParts(ReportingTask):
    """Signs the paragraphs of a run of parts; a kill costs the part in hand.

    Input: the corpus's plan. Output: a file of signatures a part.
    """

    plan = luigi.PathParameter(description="File with the corpus's plan.")
    destination = luigi.PathParameter(description="Folder of the signatures.")
    cleaning = luigi.DictParameter(description="All fields of the cleaning.")
    number = luigi.IntParameter(description="Number of the first part.")
    count = luigi.IntParameter(default=1, description="How many parts, one after the other.")

    def complete(self) -> bool:
        """Returns whether the signatures of all parts are there."""
        numbers = range(self.number, self.number + self.count)
        return all(signature_path(self.destination, number).exists() for number in numbers)

    def run(self) -> None:
        """Runs the job on one thread; alone at these parts."""
        jobs = self.destination / "jobs"
        with (
            self.held(self.destination / RUN_LOCK, shared=True),  # who sweeps it holds it alone
            self.held(jobs / f"{self.number:05d}.lock"),
        ):
            if not self.complete():
                job = {**_job_of(self), "number": self.number, "count": self.count}
                path = jobs / f"{self.number:05d}.json"
                run_job(self, "pipeline.cleaning.sign_parts", job, path, threads=1)


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
            with self.held(self.destination / RUN_LOCK):
                sweep_unfinished(self.destination)
            yield parts
        with self.held(self.destination / RUN_LOCK):
            if not self.complete():
                path = self.destination / "jobs" / "duplicates.json"
                run_job(self, "pipeline.cleaning.find_duplicates", _job_of(self), path, threads=1)


def _job_of(task: SignParts | FindDuplicates) -> dict[str, Any]:
    """Returns what the jobs of both tasks have in common."""
    return {
        "plan": str(Path(task.plan)),
        "output": str(Path(task.destination)),
        "config": dict(task.cleaning),
    }
