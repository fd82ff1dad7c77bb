"""A shard job on whatever machine: fetches its sentences, parses them, publishes the parses.

The parsing itself is the job that a single machine runs, in its own process over local folders.
Where this process is killed, that one ends with it, and the storage has the shard wholly or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pipeline.job_process import run_job_process
from pipeline.parsers.folder_files import parser_file_names
from pipeline.parsing import ParseJob, describe_parsing
from pipeline.storage.location import Storage
from pipeline.storage.origin import ShardOrigin
from pipeline.storage.scratch import scratch_folder
from pipeline.storage.stage import StoredStage

ParserFiles = Mapping[str, bytes]
"""A parser's folder: relative path -> content."""


@dataclass(frozen=True, slots=True)
class StoredShardJob:
    """Which shard of which storage to parse, and how."""

    storage: str
    """Address of the storage, the same on all machines."""
    sentences: str
    """Folder of the sentence shards in the storage."""
    parses: str
    """Folder of the parsed shards in the storage."""
    number: int
    """Number of the shard, in both."""
    stage: Literal["dependencies", "constituents"]
    parser_name: str
    """Name of the parser's folder."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the job's file (see `pipeline.parse_shard`), such as ``device``."""
    parsing: Mapping[str, Any] = field(default_factory=dict)
    """What `describe_parsing` says where the result's digest was made."""
    module: str = "pipeline.parse_shard"
    """What runs as the parsing process."""


def read_parser_files(folder: Path) -> dict[str, bytes]:
    """Returns the files of a parser, to be sent to other machines.

    Raises:
        ValueError: one is missing; names it.
    """
    return {name: (folder / name).read_bytes() for name in parser_file_names(folder)}


def parse_stored_shard(job: StoredShardJob, parser: ParserFiles) -> int:
    """Parses one shard of a storage unless it is there already; returns its number.

    Args:
        parser: the parser's files, which this machine need not have.

    Raises:
        ValueError: this machine would parse otherwise than the job's digest says, or a shard in
            the storage is damaged.
        OSError: the storage cannot be reached, or lacks the sentences.
        JobKilledError: a signal ended the parsing process.
        RuntimeError: the parsing failed; the message ends in its one line.
    """
    _check_releases(job)
    storage = Storage(job.storage)
    parses = StoredStage(storage, job.parses)
    if parses.has(job.number):
        return job.number
    with scratch_folder() as scratch:
        source = ShardOrigin(stage="sentences", number=job.number)
        StoredStage(storage, job.sentences).fetch(scratch / "sentences", source)
        _write_files(scratch / "parser" / job.parser_name, parser)
        _parse(job, scratch, storage)
        if not parses.has(job.number):  # one taken for dead may have got there first
            parses.publish(scratch / "parses", job.number)
    return job.number


def _parse(job: StoredShardJob, scratch: Path, storage: Storage) -> None:
    """Runs the parsing process over the scratch folder; a traceback goes to the storage."""
    description = {
        **job.options,
        **ParseJob(job.stage, scratch / "sentences", scratch / "parses", job.number).to_dict(),
        "parser": str(scratch / "parser" / job.parser_name),
    }
    path = scratch / f"{job.number:05d}.json"
    try:
        run_job_process(job.module, description, path, _ignore_progress, threads=1)
    except RuntimeError as error:
        traceback = path.with_name(f"{path.name}.traceback.txt")
        if not traceback.exists():
            raise
        kept = f"{job.parses}/jobs/{traceback.name}"
        storage.write(kept, traceback.read_bytes())
        message = str(error).replace(str(traceback), f"{storage.name}/{kept}")
        raise RuntimeError(message) from None


def _check_releases(job: StoredShardJob) -> None:
    """Checks that this machine makes the rows that the job's digest stands for.

    Raises:
        ValueError: it does not; names what differs.
    """
    here = describe_parsing(job.stage, kind=job.parsing.get("parser_kind", ""))
    different = [
        f"{name} {here.get(name)} instead of {value}"
        for name, value in job.parsing.items()
        if here.get(name) != value
    ]
    if different:
        raise ValueError(
            f"this machine has {', '.join(different)}: install the same release of treeviews and "
            "its libraries on all machines"
        )


def _write_files(folder: Path, files: ParserFiles) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _ignore_progress(fraction: float, status: str) -> None:
    """Progress of many machines is counted in finished shards."""
    del fraction, status
