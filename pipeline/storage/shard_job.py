"""What a stage that parses shares with other machines, and the job that each of them does for it.

The parsing itself is the job that a single machine runs, in its own process over local folders.
Where this process is killed, that one ends with it, and the storage has the shard wholly or not.
"""

from __future__ import annotations

import fcntl
import logging
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.base.atomic_files import locked
from pipeline.base.inside import inside
from pipeline.base.job import run_job_process
from pipeline.base.machine import check_releases
from pipeline.parsers.adapters.folder_files import ParsedStage, parser_file_names
from pipeline.parsing.parse_shard import ParseJob, describe_parsing
from pipeline.shards.manifests import (
    MANIFEST_NAME,
    is_parsed_from,
    manifest_path,
    read_shard_manifest,
    shard_path,
)
from pipeline.storage.location import Storage, named_address, portable_address
from pipeline.storage.stage import ShardOrigin, StoredStage

logger = logging.getLogger(__name__)


class SharedParses:
    """The sentences and parses of one stage, in the work folder and in a storage.

    The storage may be the work folder itself; then there is nothing to copy.

    Args:
        address: folder or URL of the storage.
        work_folder: what the two folders are relative to.
        sentences: folder of the sentence shards.
        parses: folder of the parsed shards.
        stage: ``dependencies`` or ``constituents``.
        parser_checksum: of the parser's folder; parses by another one are refused.

    Raises:
        ValueError: not an address of a kind that is known.
    """

    def __init__(
        self,
        address: str,
        work_folder: Path,
        *,
        sentences: Path,
        parses: Path,
        stage: str,
        parser_checksum: str,
    ) -> None:
        self._address = portable_address(address)
        self._sentences, self._parses = sentences, parses
        self._stage, self._parser_checksum = stage, parser_checksum
        self._sentences_place = sentences.relative_to(work_folder).as_posix()
        self._parses_place = parses.relative_to(work_folder).as_posix()
        storage = Storage(self._address)
        self._stored_sentences = StoredStage(storage.inside(self._sentences_place))
        self._stored_parses = StoredStage(storage.inside(self._parses_place))

    def begin(self, numbers: Sequence[int], on_wait: Callable[[], None]) -> None:
        """Gives the storage the sentences it lacks, and takes the parses that others have made.

        Args:
            numbers: the shards that the sentences have.
            on_wait: called where another stage of this machine is giving the same sentences.

        Raises:
            ValueError: the storage has other sentences or other parses under the same names.
        """
        for number in sorted(self._stored_sentences.numbers().intersection(numbers)):
            here = self._sentences_sha256(number)
            there = self._stored_sentences.manifest(number).sha256
            if here != there:
                raise ValueError(
                    f"{shard_path(self._sentences, number)} has sha256 {here}, the shard of the "
                    f"same name in the storage {named_address(self._address)} {there}, such as "
                    "from another release of treeviews or pyarrow: parses of one are none of the "
                    f"other; to go on with the storage's, delete {self._sentences} and copy "
                    f"{self._sentences_place} from there (python -m pipeline.storage); to go on "
                    f"with those here, name another storage, or delete {self._sentences_place} and "
                    f"{self._parses_place} there"
                )
        self._remove_parses_of_other_sentences(numbers)
        if not self._stored_sentences.is_complete():
            with locked(self._parses.parent / "publishing.lock", on_wait):
                self._stored_sentences.publish_missing(self._sentences, numbers)
                self._stored_sentences.publish_dataset_manifest(self._sentences)
        for number in sorted(self._stored_parses.numbers().intersection(numbers)):
            self.fetch(number)

    def _remove_parses_of_other_sentences(self, numbers: Sequence[int]) -> None:
        """Removes the parses here of sentences that were made anew since, in other bytes."""
        for number in numbers:
            parsed = read_shard_manifest(self._parses, number)
            source = read_shard_manifest(self._sentences, number)
            if parsed is not None and source is not None and not is_parsed_from(parsed, source):
                rows = shard_path(self._parses, number)
                logger.warning("%s: its sentences were made anew; it is parsed again", rows)
                for name in (MANIFEST_NAME, manifest_path(self._parses, number).name, rows.name):
                    (self._parses / name).unlink(missing_ok=True)

    def fetch(self, number: int) -> None:
        """Takes one shard that another machine has made, unless it is here.

        Raises:
            ValueError: it is damaged, or was parsed from other sentences or by another parser.
        """
        if read_shard_manifest(self._parses, number) is None:
            expected = ShardOrigin(
                stage=self._stage,
                number=number,
                sentences_sha256=self._sentences_sha256(number),
                parser_checksum=self._parser_checksum,
            )
            self._stored_parses.fetch(self._parses, expected)

    def finish(self, numbers: Sequence[int]) -> None:
        """Gives the storage the parses that it lacks; the stage is complete there, too."""
        self._stored_parses.publish_missing(self._parses, numbers)
        self._stored_parses.publish_dataset_manifest(self._parses)

    def jobs(self, numbers: Sequence[int], **fields: Any) -> list[StoredShardJob]:
        """Returns the jobs of the shards that are not complete.

        Args:
            fields: of `StoredShardJob`, all that the folders do not tell.
        """
        return [
            StoredShardJob(
                storage=self._address,
                sentences=self._sentences_place,
                parses=self._parses_place,
                number=number,
                **fields,
            )
            for number in numbers
            if read_shard_manifest(self._parses, number) is None
        ]

    def _sentences_sha256(self, number: int) -> str:
        manifest = read_shard_manifest(self._sentences, number)
        if manifest is None:
            raise FileNotFoundError(
                f"{shard_path(self._sentences, number)}: not complete; run the stage again"
            )
        return manifest.sha256


SCRATCH_PREFIX = "treeviews-scratch-"
LOCK_NAME = "in-use"

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
    stage: ParsedStage
    parser_name: str
    """Name of the parser's folder."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the job's file (see `pipeline.parsing.parse_shard`), such as ``device``."""
    parsing: Mapping[str, Any] = field(default_factory=dict)
    """What `describe_parsing` says where the result's digest was made."""
    module: str = "pipeline.parsing.parse_shard"
    """What runs as the parsing process."""


def read_parser_files(folder: Path) -> dict[str, bytes]:
    """Returns the files of a parser, to be sent to other machines.

    Raises:
        ValueError: one is missing or stands outside the folder; names it.
    """
    return {name: (folder / name).read_bytes() for name in parser_file_names(folder)}


def parse_stored_shard(job: StoredShardJob, parser: ParserFiles) -> int:
    """Parses one shard of a storage unless it is there already; returns its number.

    Args:
        parser: the parser's files, which this machine need not have.

    Raises:
        ValueError: this machine would parse otherwise than the job's digest says, a shard in the
            storage is damaged, or a file of the parser is named out of its folder.
        OSError: the storage cannot be reached, or lacks the sentences.
        JobKilledError: a signal ended the parsing process.
        RuntimeError: the parsing failed; the message ends in its one line.
    """
    kind = job.parsing.get("parser_kind", "")
    check_releases(job.parsing, describe_parsing(job.stage, kind=kind))
    storage = Storage(job.storage)
    parses = StoredStage(storage.inside(job.parses))
    if parses.has(job.number):
        return job.number
    with scratch_folder() as scratch:
        folder = inside(scratch / "parser", job.parser_name)
        places = {inside(folder, name): content for name, content in parser.items()}
        source = ShardOrigin(stage="sentences", number=job.number)
        StoredStage(storage.inside(job.sentences)).fetch(scratch / "sentences", source)
        for path, content in places.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
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
        # Progress of many machines is counted in finished shards.
        run_job_process(job.module, description, path, lambda *_: None, threads=1)
    except RuntimeError as error:
        traceback = path.with_name(f"{path.name}.traceback.txt")
        if not traceback.exists():
            raise
        kept = f"{job.parses}/jobs/{traceback.name}"
        storage.write(kept, traceback.read_bytes())
        message = str(error).replace(str(traceback), f"{storage.name}/{kept}")
        raise RuntimeError(message) from None


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Makes a folder in the system's temporary one (``TMPDIR``) and removes it in the end.

    What processes left that were killed is removed before: their locks on their folders went with
    them.
    """
    base = Path(tempfile.gettempdir())
    for folder in base.glob(f"{SCRATCH_PREFIX}*"):
        _remove_if_left(folder)
    folder = Path(tempfile.mkdtemp(prefix=SCRATCH_PREFIX, dir=base))
    try:
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            (folder / "lock").rename(folder / LOCK_NAME)  # never to be seen before it is held
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_if_left(folder: Path) -> None:
    """Removes a scratch folder whose lock is there and held by nobody."""
    with suppress(OSError), (folder / LOCK_NAME).open("r+") as lock:  # BlockingIOError: in use
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
