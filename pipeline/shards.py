"""Parquet shards that are whole or absent: atomic writes, manifests, verified reads.

A stage's folder holds ``00000.parquet`` (the rows), ``00000.quarantine.jsonl`` (what was refused
and why) and ``00000.json`` (the manifest, written last: a shard without it does not exist). When
all shards stand, ``manifest.json`` sums them up and marks the whole stage complete.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.digest import sha256_of_file
from pipeline.parquet_file import ParquetRows
from pipeline.schema import SCHEMA_VERSION, STAGE_KEY, VERSION_KEY, schema_for

FIRST_ROWS = 4_000
MAX_ROWS = 100_000
SHARDS_PER_DOUBLING = 4
TEMPORARY_SUFFIX = ".unfinished"
MANIFEST_NAME = "manifest.json"
SHARD_GLOB = "[0-9]" * 5 + ".parquet"

ManifestT = TypeVar("ManifestT")


@dataclass(frozen=True, slots=True)
class ShardManifest:
    """What is known of one complete shard."""

    stage: str
    schema_version: int
    number: int
    rows: int
    bytes: int
    sha256: str
    drops: dict[str, int] = field(default_factory=dict)
    """Number of sentences refused, by reason."""
    seconds: float = 0.0
    extra: dict[str, Any] = field(default_factory=dict)
    has_quarantine: bool = True
    """Whether every drop has a record beside the shard; not so where rows were merely selected."""


@dataclass(frozen=True, slots=True)
class DatasetManifest:
    """What is known of one complete stage: its configuration and all its shards."""

    stage: str
    schema_version: int
    config: dict[str, Any]
    shards: tuple[ShardManifest, ...]
    rows: int
    drops: dict[str, int]
    seconds: float


def rows_in_shard(number: int, *, first_rows: int = FIRST_ROWS, max_rows: int = MAX_ROWS) -> int:
    """Returns how many rows shard ``number`` takes: doubling every four shards up to a maximum.

    A small corpus still gives every core a shard, a corpus of 40 M sentences stays at a few
    hundred of them, and the size of the corpus need not be known before it is read.
    """
    doublings = min(number // SHARDS_PER_DOUBLING, 32)
    return min(max_rows, first_rows << doublings)


def shard_path(folder: Path, number: int) -> Path:
    """Returns the path of a shard's Parquet file."""
    return folder / f"{number:05d}.parquet"


def _manifest_path(folder: Path, number: int) -> Path:
    return folder / f"{number:05d}.json"


def quarantine_path(folder: Path, number: int) -> Path:
    """Returns the path of the JSON lines that say what a shard refused and why."""
    return folder / f"{number:05d}.quarantine.jsonl"


def write_text_atomically(path: Path, text: str) -> None:
    """Writes a UTF-8 file that appears whole or not at all, and durably."""
    write_bytes_atomically(path, text.encode("utf-8"))


def write_bytes_atomically(path: Path, content: bytes) -> None:
    """Writes a file that appears whole or not at all, and durably."""
    writer = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"  # containers share both
    temporary = path.with_name(f"{path.name}.{writer}{TEMPORARY_SUFFIX}")
    with temporary.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    rename_durably(temporary, path)


def json_bytes(value: Any) -> bytes:
    """Returns indented JSON, the same bytes for the same value."""
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode("utf-8")


def write_json_atomically(path: Path, value: Any) -> None:
    """Writes indented JSON that appears whole or not at all."""
    write_bytes_atomically(path, json_bytes(value))


class ShardWriter:
    """Writes one shard piece by piece; it has its name when it is whole, or never.

    A context: what was written is removed unless ``finish`` was reached.
    """

    def __init__(self, folder: Path, stage: str, number: int) -> None:
        self._folder, self._stage, self._number = folder, stage, number
        self._path = shard_path(folder, number)
        self._temporary = self._path.with_name(f"{self._path.name}.{os.getpid()}{TEMPORARY_SUFFIX}")
        self._schema = schema_for(stage)
        self._rows = ParquetRows(self._temporary, self._schema)

    def __enter__(self) -> ShardWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        self._rows.discard()

    def write(self, table: pa.Table) -> None:
        """Appends rows, in row groups of their own.

        Args:
            table: rows castable to the stage's schema.

        Raises:
            ValueError: the table does not fit the stage's schema.
        """
        try:
            rows = table.select(self._schema.names).cast(self._schema)
        except (pa.ArrowInvalid, KeyError) as error:
            raise ValueError(
                f"shard {self._number} of {self._stage} does not fit its schema: {error}"
            ) from error
        self._rows.write(rows)

    def finish(
        self,
        *,
        drops: Mapping[str, int],
        quarantine: Iterable[Mapping[str, Any]] | None = None,
        extra: Mapping[str, Any] | None = None,
        seconds: float = 0.0,
    ) -> ShardManifest:
        """Re-reads and names the shard, then writes its manifest; see `write_shard`."""
        self._rows.close()
        _synchronise(self._temporary)
        rename_durably(self._temporary, self._path)
        if quarantine is not None:
            lines = "".join(json.dumps(record, sort_keys=True) + "\n" for record in quarantine)
            write_text_atomically(quarantine_path(self._folder, self._number), lines)
        manifest = ShardManifest(
            stage=self._stage,
            schema_version=SCHEMA_VERSION,
            number=self._number,
            rows=self._rows.num_rows,
            bytes=self._path.stat().st_size,
            sha256=sha256_of_file(self._path),
            drops=dict(sorted(drops.items())),
            seconds=round(seconds, 3),
            extra=dict(extra or {}),
            has_quarantine=quarantine is not None,
        )
        write_json_atomically(_manifest_path(self._folder, self._number), asdict(manifest))
        return manifest


def write_shard(
    folder: Path,
    stage: str,
    number: int,
    table: pa.Table,
    *,
    drops: Mapping[str, int],
    quarantine: Iterable[Mapping[str, Any]] | None = None,
    extra: Mapping[str, Any] | None = None,
    seconds: float = 0.0,
) -> ShardManifest:
    """Writes, re-reads and names one shard, then its manifest.

    Args:
        table: rows castable to the stage's schema.
        drops: number of refused sentences by reason.
        quarantine: one JSON-serialisable record with its ``reason`` per refused sentence; omitted
            where a stage only selects rows, and keeps no account of the others.
        extra: further facts for the manifest, such as a parser's checksum.

    Raises:
        ValueError: the table does not fit the stage's schema.
    """
    with ShardWriter(folder, stage, number) as writer:
        writer.write(table)
        return writer.finish(drops=drops, quarantine=quarantine, extra=extra, seconds=seconds)


def rename_durably(temporary: Path, path: Path) -> None:
    """Gives a durable file its name; on return a crash of the machine costs neither."""
    temporary.replace(path)
    try:
        _synchronise(path.parent)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:  # some file systems sync no folder
            raise


def _synchronise(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remedy(path: Path) -> str:
    """Returns what to do about a shard that is damaged: every file that says it is complete."""
    return (
        f"delete {path.name}, {path.with_suffix('.json').name} and {MANIFEST_NAME} in "
        f"{path.parent} and run the stage again"
    )


@contextmanager
def _naming_damage(path: Path) -> Iterator[None]:
    """Turns what Arrow raises for a damaged shard into a ValueError with the remedy."""
    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the system's, not Arrow's
            raise
        raise ValueError(f"{path}: not a whole Parquet file ({error}); {remedy(path)}") from error


def _open_shard(path: Path, stage: str) -> pq.ParquetFile:
    """Opens a Parquet file of this stage and of the version this code reads.

    Raises:
        FileNotFoundError: no such file.
        ValueError: not a whole Parquet file, another stage, or an unknown schema version.
    """
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such shard; run the stage that writes it")
    with _naming_damage(path):
        file = pq.ParquetFile(path)
        metadata = file.schema_arrow.metadata or {}
    found_stage = metadata.get(STAGE_KEY, b"?").decode()
    found_version = metadata.get(VERSION_KEY, b"?").decode()
    if found_stage != stage:
        raise ValueError(f"{path}: holds {found_stage!r}, expected {stage!r}")
    if found_version != str(SCHEMA_VERSION):
        raise ValueError(
            f"{path}: schema version {found_version}, this release reads {SCHEMA_VERSION}; "
            "run the stage again or install the release that wrote it"
        )
    return file


def read_shard(
    folder: Path, stage: str, number: int, columns: Sequence[str] | None = None
) -> pa.Table:
    """Returns a shard's rows.

    Args:
        columns: the columns to read, in their order; all when omitted.

    Raises:
        FileNotFoundError: no such shard.
        ValueError: the file is broken, of another stage, or of an unknown schema version.
    """
    path = shard_path(folder, number)
    names = None if columns is None else list(columns)
    with _open_shard(path, stage) as file, _naming_damage(path):
        # One by one: Arrow cannot read lists of dictionary strings over several row groups at once.
        groups = [file.read_row_group(g, columns=names) for g in range(file.num_row_groups)]
        table = pa.concat_tables(groups) if groups else file.schema_arrow.empty_table()
    return table if names is None else table.select(names)


def read_row_groups(folder: Path, stage: str, number: int) -> Iterator[pa.Table]:
    """Yields a shard's rows group by group, so that one group is in memory at a time.

    Raises:
        FileNotFoundError: no such shard.
        ValueError: the file is broken, of another stage, or of an unknown schema version.
    """
    path = shard_path(folder, number)
    with _open_shard(path, stage) as file:
        for group in range(file.num_row_groups):
            with _naming_damage(path):
                table = file.read_row_group(group)
            yield table


def _manifest_of(
    source: str, content: bytes, build: Callable[[dict[str, Any]], ManifestT]
) -> ManifestT:
    """Returns a manifest of this release's version.

    Raises:
        ValueError: the file is damaged, or of another version; names it and the remedy.
    """
    try:
        value = json.loads(content)
        version = value["schema_version"]
        if version == SCHEMA_VERSION:
            return build(value)
    except (ValueError, TypeError, KeyError) as error:
        files = "it" if source.endswith(MANIFEST_NAME) else f"it and {MANIFEST_NAME} beside it"
        raise ValueError(
            f"{source}: not readable as a manifest ({type(error).__name__}: {error}); delete "
            f"{files} and run the stage again"
        ) from error
    raise ValueError(
        f"{source}: schema version {version}, this release reads {SCHEMA_VERSION}; "
        "run the stage again or install the release that wrote it"
    )


def _shard_from_json(value: dict[str, Any]) -> ShardManifest:
    return ShardManifest(**value)


def _dataset_from_json(value: dict[str, Any]) -> DatasetManifest:
    shards = tuple(_shard_from_json(shard) for shard in value["shards"])
    return DatasetManifest(**(value | {"shards": shards}))


def shard_manifest_of(source: str, content: bytes) -> ShardManifest:
    """Returns the manifest of a shard from its bytes.

    Args:
        source: path or URL of the file, for the errors.

    Raises:
        ValueError: it is damaged, or of another version; names the source and the remedy.
    """
    return _manifest_of(source, content, _shard_from_json)


def dataset_manifest_of(source: str, content: bytes) -> DatasetManifest:
    """Returns the manifest of a complete stage from its bytes; see `shard_manifest_of`."""
    return _manifest_of(source, content, _dataset_from_json)


def read_shard_manifest(folder: Path, number: int) -> ShardManifest | None:
    """Returns the manifest of a shard, or None where the shard is not complete.

    Raises:
        ValueError: the manifest is damaged, or of another version; names it and the remedy.
    """
    path = _manifest_path(folder, number)
    if not path.exists() or not shard_path(folder, number).exists():
        return None
    return shard_manifest_of(str(path), path.read_bytes())


def complete_shards(folder: Path) -> list[ShardManifest]:
    """Returns the manifests of the shards 0, 1, … up to the first that is not complete."""
    found: list[ShardManifest] = []
    while (manifest := read_shard_manifest(folder, len(found))) is not None:
        found.append(manifest)
    return found


def write_dataset_manifest(
    folder: Path,
    stage: str,
    *,
    config: Mapping[str, Any],
    num_shards: int | None = None,
    seconds: float | None = None,
) -> DatasetManifest:
    """Marks a stage complete: sums its shards up and writes ``manifest.json``.

    Args:
        config: the resolved configuration that determined the content.
        num_shards: how many shards the stage has; by default up to the last one in the folder.
        seconds: the stage's own time; by default the sum over its shards.

    Raises:
        FileNotFoundError: a shard is missing or not complete; names their numbers.
    """
    shards = _all_shards(folder, num_shards)
    manifest = sum_up(stage, shards, config=config, seconds=seconds)
    write_json_atomically(folder / MANIFEST_NAME, asdict(manifest))
    return manifest


def sum_up(
    stage: str,
    shards: Sequence[ShardManifest],
    *,
    config: Mapping[str, Any],
    seconds: float | None = None,
) -> DatasetManifest:
    """Returns the manifest of a stage that has these shards; see `write_dataset_manifest`."""
    drops: Counter[str] = Counter()
    for shard in shards:
        drops.update(shard.drops)
    return DatasetManifest(
        stage=stage,
        schema_version=SCHEMA_VERSION,
        config=dict(config),
        shards=tuple(shards),
        rows=sum(shard.rows for shard in shards),
        drops=dict(sorted(drops.items())),
        seconds=round(sum(s.seconds for s in shards) if seconds is None else seconds, 3),
    )


def _all_shards(folder: Path, num_shards: int | None) -> tuple[ShardManifest, ...]:
    if num_shards is None:
        num_shards = max((int(path.stem) + 1 for path in folder.glob(SHARD_GLOB)), default=0)
    found = [read_shard_manifest(folder, number) for number in range(num_shards)]
    missing = [number for number, shard in enumerate(found) if shard is None]
    if missing:
        raise FileNotFoundError(
            f"{folder}: shards {', '.join(map(str, missing))} of {num_shards} are missing or not "
            "complete; run the stage again"
        )
    return tuple(shard for shard in found if shard is not None)


def read_dataset_manifest(folder: Path, stage: str | None = None) -> DatasetManifest:
    """Returns the manifest of a complete stage.

    Raises:
        FileNotFoundError: the stage is not complete.
        ValueError: the folder holds another stage.
    """
    path = folder / MANIFEST_NAME
    if not path.exists():
        raise FileNotFoundError(
            f"{folder}: no {MANIFEST_NAME}, so this stage is not complete; run it again"
        )
    manifest = dataset_manifest_of(str(path), path.read_bytes())
    if stage is not None and manifest.stage != stage:
        raise ValueError(f"{folder}: holds {manifest.stage!r}, expected {stage!r}")
    return manifest


def sweep_unfinished(folder: Path, *, older_than_seconds: float = 0.0) -> int:
    """Removes temporary files that a killed writer left behind; returns how many.

    To be called while nobody writes to the folder.

    Args:
        older_than_seconds: younger ones are left, as others may be writing them; 0 takes all.
    """
    latest = time.time() - older_than_seconds
    removed = 0
    for path in folder.glob(f"*{TEMPORARY_SUFFIX}"):
        with suppress(FileNotFoundError):  # named or swept by another in this moment
            if not older_than_seconds or path.stat().st_mtime < latest:
                path.unlink()
                removed += 1
    return removed
