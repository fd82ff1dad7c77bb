"""What a machine of a cluster does of a stage: some shards, from the shared storage and into it.

The work itself is the job that a single machine runs, in its own process over local folders. Where
this process is killed, that one ends with it, and the storage has each shard wholly or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from treeviews.pipeline.base.inside import inside
from treeviews.pipeline.base.job import JobFailedError, run_job_process
from treeviews.pipeline.base.job_server import start_job_server
from treeviews.pipeline.base.machine import check_releases
from treeviews.pipeline.shards.manifests import ShardRange, read_shard_manifest
from treeviews.pipeline.storage.location import Storage
from treeviews.pipeline.storage.scratch import scratch_folder
from treeviews.pipeline.storage.stage import ShardOrigin, StoredStage

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
    files: tuple[str, ...] | None = None
    """Those of the files that are sent that the job reads; by default all."""
    files_folder: str = "files"
    """Where these go in the scratch folder."""
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
    check_releases(job.described, job.describe())
    stored = StoredStage(Storage(job.storage).inside(job.output))
    missing = [number for number in job.numbers if not stored.has(number)]
    if not missing:
        return job.number
    start_job_server(at_once=1)  # this process does one job at a time, beside others of the machine
    with scratch_folder() as scratch:
        names = files.keys() if job.files is None else files.keys() & job.files
        sent = {name: files[name] for name in names}
        _write_files(inside(scratch, job.files_folder), sent)
        for run in _runs(missing):
            _borrow_inputs(job, scratch, run)
            _make(job, scratch, run, stored)
    return job.number


def _write_files(folder: Path, files: SentFiles) -> None:
    for path, content in {inside(folder, name): one for name, one in files.items()}.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _runs(numbers: Sequence[int]) -> Iterator[ShardRange]:
    """Yields the ranges without gaps that numbers in order make."""
    first = 0
    for place, number in enumerate(numbers, start=1):
        if place == len(numbers) or numbers[place] != number + 1:
            yield ShardRange(numbers[first], place - first)
            first = place


def _borrow_inputs(job: StoredJob, scratch: Path, run: ShardRange) -> None:
    for name, place in job.inputs.items():
        stored = StoredStage(Storage(job.storage).inside(place))
        for number in range(run.number, run.number + run.num_shards):
            stored.lend(scratch / name, ShardOrigin(stage=Path(name).name, number=number))


def _make(job: StoredJob, scratch: Path, run: ShardRange, stored: StoredStage) -> None:
    """Runs the job's process over the scratch folder; a traceback goes to the storage."""
    output = scratch / "output"
    left = list(range(run.number, run.number + run.num_shards))
    path = scratch / "jobs" / f"{run.number:05d}.json"

    def publish(*_: object) -> None:
        for number in list(left):
            if read_shard_manifest(output, number) is not None:
                if not stored.has(number):  # one taken for dead may have got there first
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
