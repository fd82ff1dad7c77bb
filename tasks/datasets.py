"""The stage that fetches a data set of the hub."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.downloads.hub_dataset import DATASET_FILE, FetchJob, HubDataset
from tasks.artefact import Artefact, run_job
from tasks.parameters import TEXT_FIELD, DatasetParameters


class FetchDataset(DatasetParameters, Artefact):
    """Fetches the text of a data set of the hub, by datasets (``pip install 'datasets<5'``).

    Output: compressed files of JSON lines. A fetch that was killed goes on behind its last file.
    """

    marker = DATASET_FILE
    text_field = TEXT_FIELD

    @property
    def wanted(self) -> HubDataset:
        """Which column of which data set."""
        return HubDataset(
            name=self.dataset,
            config=self.dataset_config,
            split=self.dataset_split,
            text_field=self.text_field or "text",
            revision=self.dataset_revision,
        )

    def content(self) -> dict[str, Any]:
        """Returns what the text is; of a folder, its files' checksum."""
        return {"dataset": self.wanted.describe()}

    def place(self) -> Path:
        """Returns the folder of the files."""
        return self.work_folder / "downloads" / Path(self.dataset).name

    def fill(self) -> None:
        """Fetches the data set in a process of its own."""
        self.write_config()
        job = FetchJob(self.wanted, self.folder)
        path = self.folder / "job.json"
        run_job(self, "pipeline.downloads.hub_dataset", job.to_dict(), path, threads=1)
