"""What a machine of a cluster does of a corpus's splitting: some parts, into the shared storage.

The text itself must be where the plan says it is, on every machine, such as in a shared folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipeline.base.inside import inside
from pipeline.base.job import run_job_process
from pipeline.shards.manifests import read_shard_manifest
from pipeline.storage.location import Storage
from pipeline.storage.shard_job import scratch_folder
from pipeline.storage.stage import ShardOrigin, StoredStage
from pipeline.text.split_corpus import PLAN_NAME, SplitJob


@dataclass(frozen=True, slots=True)
class StoredSplitJob:
    """Which parts of a plan to split, and where their shards go."""

    storage: str
    """Address of the storage, the same on all machines."""
    sentences: str
    """Folder of the sentence shards in the storage."""
    number: int
    """Of the first part and its shard."""
    count: int
    described: Mapping[str, Any]
    """What `describe_splitter` says where the shards' digest was made."""

    @property
    def numbers(self) -> range:
        """Of all parts and their shards."""
        return range(self.number, self.number + self.count)


def split_stored_parts(job: StoredSplitJob, files: Mapping[str, bytes]) -> int:
    """Splits parts of a corpus unless their shards are in the storage; returns the first's number.

    A shard is given to the storage as soon as it is made.

    Args:
        files: the corpus's plan and what of it is a duplicate, by the names of their files.

    Raises:
        JobMistakeError: the text is not on this machine, or another one than the plan's; or this
            machine would split otherwise than the job's digest says.
        OSError: the storage cannot be reached.
        JobKilledError: a signal ended the splitting process.
        JobFailedError: it failed otherwise.
    """
    stored = StoredStage(Storage(job.storage).inside(job.sentences))
    missing = [number for number in job.numbers if not stored.has(number)]
    if not missing:
        return job.number
    with scratch_folder() as scratch:
        plan, output = scratch / PLAN_NAME, scratch / "sentences"
        for path, content in {inside(scratch, name): one for name, one in files.items()}.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        count = missing[-1] + 1 - missing[0]
        described = asdict(SplitJob(plan, output, missing[0], count, job.described))
        values = described | {"plan": str(plan), "output": str(output)}

        def publish(*_: object) -> None:
            for number in list(missing):
                if read_shard_manifest(output, number) is not None:
                    if not stored.has(number):  # one taken for dead may have got there first
                        stored.publish(output, number)
                    missing.remove(number)

        run_job_process(
            "pipeline.text.split_corpus", values, scratch / "job.json", publish, threads=1
        )
        publish()
    return job.number


def fetch_shards(storage: str, place: str, folder: Path, numbers: range) -> None:
    """Takes the sentence shards of a storage that a local folder lacks, of those it has."""
    stored = StoredStage(Storage(storage).inside(place))
    for number in sorted(stored.numbers().intersection(numbers)):
        if read_shard_manifest(folder, number) is None:
            stored.fetch(folder, ShardOrigin(stage="sentences", number=number))
