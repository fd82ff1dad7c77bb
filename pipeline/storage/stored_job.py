"""What a machine of a cluster does of a stage: some shards, from the shared storage and into it.

The work itself is the job that a single machine runs, in its own process over local folders. Where
this process is killed, that one ends with it, and the storage has each shard wholly or not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from treeviews.pipeline.base.inside import inside
from treeviews.pipeline.base.job import JobFailedError, run_job_process
from treeviews.pipeline.base.job_server import start_job_server
from treeviews.pipeline.shards.manifests import ShardRange, read_shard_manifest
from treeviews.pipeline.storage.location import Storage
from treeviews.pipeline.storage.shared_shards import StoredStage

SCRATCH_PREFIX = "treeviews-scratch-"
SentFiles = Mapping[str, bytes]
"""Files that a machine need not have: relative path -> content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredJob:
    """Which shards of a stage to make, from which folders of a storage and by which sent files."""

    storage: str
    """Address of the storage, the same on all machines."""
    output: str
    """Folder of the shards in the storage."""
    number: int
    """Of the first shard, in all folders."""
    count: int = 1
    """How many shards, that one and those after it."""
    module: str
    """What runs as the job's process."""
    values: Mapping[str, Any]
    """The job's file where the stage runs, but for the shards' numbers."""
    folders: Mapping[str, str]
    """Folder or file in these values -> the same in the scratch folder, such as ``sentences``,
    ``parses/dependencies``, ``output``."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Folder of shards in the scratch folder, named after its stage -> the same in the storage."""
    files_folder: str = "files"
    """Where the files that are sent go in the scratch folder."""
    describe: Callable[[], Mapping[str, Any]] = dict
    """Says by which releases a machine makes the rows."""
    described: Mapping[str, Any] = field(default_factory=dict)
    """What it says where the stage's digest was made."""

    @property
    def numbers(self) -> range:
        """Of all shards."""
        return range(self.number, self.number + self.count)


def make_stored_shards(job: StoredJob, files: SentFiles) -> int:
    """Makes shards of a storage unless they are there already; returns the first's number.

    A shard is given to the storage as soon as it is made.

    Args:
        files: what this machine need not have.

    Raises:
        ValueError: this machine would make other rows than the job's digest says, a shard in the
            storage is damaged, or a file is named out of its folder.
        OSError: the storage cannot be reached, or lacks what the shards are made from.
        JobKilledError: a signal ended the job's process.
        JobFailedError: it failed otherwise; of what the user can mend, JobMistakeError.
    """
    here = job.describe()
    for name, value in job.described.items():
        if here.get(name) != value:
            raise ValueError(
                f"this machine has {name} {here.get(name)} instead of {value}: install the same "
                "release of treeviews and its libraries on all machines"
            )
    stored = StoredStage(Storage(job.storage).inside(job.output))
    missing = [number for number in job.numbers if not stored.has(number)]
    if not missing:
        return job.number
    start_job_server(at_once=1)  # this process does one job at a time, beside others of the machine
    is_whole = len(missing) == job.count  # else a kill cost a part of the range
    runs = [ShardRange(job.number, job.count)] if is_whole else [ShardRange(n, 1) for n in missing]
    with TemporaryDirectory(prefix=SCRATCH_PREFIX, ignore_cleanup_errors=True) as folder:
        scratch = Path(folder)
        for name, content in files.items():
            path = inside(inside(scratch, job.files_folder), name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        for run in runs:
            for name, place in job.inputs.items():
                source = StoredStage(Storage(job.storage).inside(place))
                for number in range(run.number, run.number + run.num_shards):
                    source.fetch(scratch / name, number, Path(name).name)
            _make(job, scratch, run, stored)
    return job.number


def _make(job: StoredJob, scratch: Path, run: ShardRange, stored: StoredStage) -> None:
    """Runs the job's process over the scratch folder; a traceback goes to the storage."""
    output = scratch / "output"
    left = list(range(run.number, run.number + run.num_shards))
    path = scratch / "jobs" / f"{run.number:05d}.json"

    def publish(*_: object) -> None:
        for number in list(left):
            if read_shard_manifest(output, number) is not None:
                if not stored.has(number):  # one taken for dead may have been first
                    stored.publish(output, number)
                left.remove(number)

    try:
        # Progress of many machines is counted in finished shards.
        moved = _moved(job.values, {name: str(scratch / to) for name, to in job.folders.items()})
        values = {**moved, "number": run.number, "count": run.num_shards}
        run_job_process(job.module, values, path, publish, threads=1)
    except JobFailedError as error:
        publish()
        raise type(error)(_with_kept_traceback(str(error), job, path)) from None
    publish()


def _moved(value: Any, folders: Mapping[str, str]) -> Any:
    """Returns JSON in which folders stand where they are on this machine."""
    if isinstance(value, Mapping):
        return {name: _moved(part, folders) for name, part in value.items()}
    return folders.get(value, value) if isinstance(value, str) else value


def _with_kept_traceback(message: str, job: StoredJob, path: Path) -> str:
    """Returns what a job said, its traceback named in the storage."""
    traceback = path.with_name(f"{path.name}.traceback.txt")
    if not traceback.exists():
        return message
    storage = Storage(job.storage)
    kept = f"{job.output}/jobs/{traceback.name}"
    storage.write(kept, traceback.read_bytes())
    return message.replace(str(traceback), f"{storage.name}/{kept}")
