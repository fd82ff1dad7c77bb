"""The stage that fetches a data set of the hub."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import luigi

from treeviews.pipeline.downloads.hub_dataset import DATASET_FILE, FetchJob, HubDataset
from treeviews.tasks.artefact import Artefact, run_job
from treeviews.tasks.checks import Check, check_installed
from treeviews.tasks.parameter_kinds import settings_of, takes

TEXT_FIELD = luigi.OptionalParameter(
    default=None,
    description="Where a row is a document: the field or column of its text. By default text; of "
    "amazon-books reviewText.",
)


@takes(HubDataset)
class DatasetParameters:
    """With source=hf: which data set of the hub the text comes from."""

    dataset: str


class FetchDataset(DatasetParameters, Artefact):
    """Fetches the text of a data set of the hub, by datasets (``pip install 'datasets<5'``).

    Output: compressed files of JSON lines. A fetch that was killed goes on behind its last file.
    """

    marker = DATASET_FILE
    text_field = TEXT_FIELD

    @property
    def wanted(self) -> HubDataset:
        """Which column of which data set."""
        return settings_of(self, HubDataset, text_field=self.text_field or "text")

    def checks(self) -> list[Check]:
        """Refuses to fetch without the library."""
        return [*super().checks(), lambda: check_installed("datasets", "source hf", "corpora")]

    def content(self) -> dict[str, Any]:
        """Returns what the text is; of a folder, its files' checksum."""
        return {"dataset": self.wanted.describe()}

    def place(self) -> Path:
        """Returns the folder of the files."""
        return self.work_folder / "downloads" / Path(self.dataset).name

    def fill(self) -> None:
        """Fetches the data set in a process of its own."""
        self.write_config()
        job = FetchJob(dataset=self.wanted, out=self.folder)
        path = self.folder / "job.json"
        run_job(self, "treeviews.pipeline.downloads.hub_dataset", job.to_dict(), path, threads=1)
