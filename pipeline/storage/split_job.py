"""What a machine of a cluster does of a corpus's splitting: some parts, into the shared storage.

The text itself must be where the plan says it is, on every machine, such as in a shared folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.base.machine import check_releases
from pipeline.shards.manifests import read_shard_manifest
from pipeline.storage.location import Storage
from pipeline.storage.stage import ShardOrigin, StoredStage
from pipeline.storage.stored_job import SentFiles, StoredJob
from pipeline.text.cleaning_steps import CleaningConfig, describe_cleaning
from pipeline.text.find_duplicates import MANIFEST_NAME, drops_path
from pipeline.text.split_corpus import PLAN_NAME
from pipeline.text.split_parts import DUPLICATES_FOLDER, describe_splitter
from pipeline.text.tokenization import SentenceConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSplitJob(StoredJob):
    """Which parts of a plan to split; the plan and what of it is a duplicate are sent."""

    module: str = "pipeline.text.split_parts"
    config: SentenceConfig
    described: Mapping[str, Any]
    """What `describe_splitter` says where the shards' digest was made."""
    cleaning: CleaningConfig
    described_cleaning: Mapping[str, Any]
    """What `describe_cleaning` says there."""

    def check_machine(self) -> None:
        """Checks that this machine cleans and splits as the stage's digest says.

        Raises:
            ModuleNotFoundError: a step of cleaning needs a library that is not installed.
            ValueError: it does not; names what differs.
        """
        check_releases(self.described, describe_splitter(self.config))
        check_releases(self.described_cleaning, describe_cleaning(self.cleaning))

    def needed(self, files: SentFiles) -> SentFiles:
        """Returns the plan and what is a duplicate of this job's parts, of all that were sent."""
        found = Path(DUPLICATES_FOLDER)
        of_parts = [drops_path(found, number) for number in self.numbers]
        names = [PLAN_NAME, *(path.as_posix() for path in (found / MANIFEST_NAME, *of_parts))]
        return {name: files[name] for name in names if name in files}

    def description(self, scratch: Path, output: Path) -> dict[str, Any]:
        """Returns where the plan is and where the shards go."""
        return {"plan": str(self.files_folder(scratch) / PLAN_NAME), "output": str(output)}


def fetch_shards(storage: str, place: str, folder: Path, numbers: range) -> None:
    """Takes the sentence shards of a storage that a local folder lacks, of those it has."""
    stored = StoredStage(Storage(storage).inside(place))
    for number in sorted(stored.numbers().intersection(numbers)):
        if read_shard_manifest(folder, number) is None:
            stored.fetch(folder, ShardOrigin(stage="sentences", number=number))
