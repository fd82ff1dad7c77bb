"""Parquet shards that are whole or absent: atomic writes and verified reads.

What a shard consists of is told in `pipeline.shards.manifests`. Rows lie in row groups as they
come, in columns packed for their content; the same tables give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from treeviews.pipeline.base.atomic_files import (
    TEMPORARY_SUFFIX,
    rename_durably,
    synchronise,
    write_text_atomically,
    writer_name,
)
from treeviews.pipeline.base.digest import sha256_of_file
from treeviews.pipeline.base.json_files import write_sealed_json
from treeviews.pipeline.base.mistakes import DamagedError
from treeviews.pipeline.shards.manifests import (
    ShardManifest,
    check_rows,
    manifest_path,
    quarantine_path,
    read_verified_manifest,
    remedy,
    shard_path,
)
from treeviews.pipeline.shards.schema import (
    COLUMNS,
    EMBEDDING,
    SCHEMA_VERSION,
    STAGE_KEY,
    Vectors,
    schema_for,
)

if TYPE_CHECKING:
    import pyarrow.parquet as pq


FIRST_ROWS = 4_000
MAX_ROWS = 100_000
SHARDS_PER_DOUBLING = 4

ROW_GROUP_ROWS = 10_000
TEXT_LEVEL = 3
TREE_LEVEL = 19
VECTOR_LEVEL = 1
"""zstd's levels. Trees are small and are parsed for milliseconds a sentence; the highest level
takes a tenth of one and saves a twelfth of their bytes. Of vectors it saves nothing."""
SPLIT_COLUMNS = frozenset({"heads", "span_starts", "span_ends", EMBEDDING})
"""Positions in a sentence, of whose bytes one varies and takes all values: packed byte by byte, an
eighth smaller than through a dictionary, whose codes of seven bits hide the bytes from zstd. And
vectors, of which this takes a sixth away."""


def rows_in_shard(number: int, *, max_rows: int = MAX_ROWS) -> int:
    """Returns how many rows shard ``number`` takes: doubling every four shards up to a maximum.

    A small corpus still gives every core a shard, a corpus of 40 M sentences stays at a few
    hundred of them, and the size of the corpus need not be known before it is read.
    """
    doublings = min(number // SHARDS_PER_DOUBLING, 32)
    return min(max_rows, FIRST_ROWS << doublings)


def packing(schema: pa.Schema) -> dict[str, Any]:
    """Returns how a schema's columns are packed."""
    checked = {"write_page_checksum": True}
    # The values of a list column are a Parquet column of their own name.
    leaves = {name: f"{name}.list.element" for name in schema.names}
    split = [leaf for name, leaf in leaves.items() if name in SPLIT_COLUMNS]
    if not split:  # sentences
        return {**checked, "compression": "zstd", "compression_level": TEXT_LEVEL}
    return {
        **checked,
        "compression": "zstd",
        "compression_level": VECTOR_LEVEL if EMBEDDING in leaves else TREE_LEVEL,
        "use_dictionary": [leaf for leaf in leaves.values() if leaf not in split],
        "column_encoding": dict.fromkeys(split, "BYTE_STREAM_SPLIT"),
    }


class ShardWriter:
    """Writes one shard piece by piece; it has its name when it is whole, or never.

    A context: what was written is removed unless ``finish`` was reached.
    """

    def __init__(
        self, folder: Path, stage: str, number: int, *, vectors: Vectors | None = None
    ) -> None:
        """Takes the shard's place.

        Args:
            vectors: what the rows of embeddings are; of that stage alone.
        """
        self._folder, self._stage, self._number = folder, stage, number
        self._path = shard_path(folder, number)
        name = f"{self._path.name}.{writer_name()}{TEMPORARY_SUFFIX}"
        self._temporary = self._path.with_name(name)
        self._schema = schema_for(stage, vectors)
        self._file: pq.ParquetWriter | None = None
        self._num_rows = 0

    def __enter__(self) -> ShardWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._file is not None:
            with suppress(OSError):  # such as a full disk, which is why the rows are given up
                self._file.close()
        self._temporary.unlink(missing_ok=True)

    def write(self, table: pa.Table) -> None:
        """Appends rows in row groups of their own, `ROW_GROUP_ROWS` each but for the last.

        Args:
            table: rows castable to the stage's schema.
        """
        rows = table.select(self._schema.names).cast(self._schema)
        self._opened().write_table(rows, row_group_size=ROW_GROUP_ROWS)
        self._num_rows += rows.num_rows

    def _opened(self) -> pq.ParquetWriter:
        """Returns the file, which is there from the first rows on."""
        import pyarrow.parquet as pq  # takes as long to import as numpy; many need none

        if self._file is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file = pq.ParquetWriter(self._temporary, self._schema, **packing(self._schema))
        return self._file

    def finish(
        self,
        *,
        drops: Mapping[str, int],
        quarantine: Iterable[Mapping[str, Any]] | None = None,
        extra: Mapping[str, Any] | None = None,
        seconds: float = 0.0,
    ) -> ShardManifest:
        """Re-reads and names the shard, then writes its manifest.

        Args:
            drops: number of refused sentences by reason.
            quarantine: one JSON-serialisable record with its ``reason`` per refused sentence;
                omitted where a stage only selects rows, and keeps no account of the others.
            extra: further facts for the manifest, such as a parser's checksum.

        Raises:
            OSError: it does not read back with as many rows as were written.
        """
        import pyarrow.parquet as pq

        self._opened().close()
        if pq.ParquetFile(self._temporary).metadata.num_rows != self._num_rows:
            raise OSError(f"{self._temporary} was not written whole; check the disk")
        synchronise(self._temporary)
        rename_durably(self._temporary, self._path)
        quarantine_sha256 = ""
        if quarantine is not None:
            lines = "".join(json.dumps(record, sort_keys=True) + "\n" for record in quarantine)
            path = quarantine_path(self._folder, self._number)
            write_text_atomically(path, lines)
            quarantine_sha256 = sha256_of_file(path)
        manifest = ShardManifest(
            stage=self._stage,
            schema_version=SCHEMA_VERSION,
            number=self._number,
            rows=self._num_rows,
            bytes=self._path.stat().st_size,
            sha256=sha256_of_file(self._path),
            drops=dict(sorted(drops.items())),
            seconds=round(seconds, 3),
            extra=dict(extra or {}),
            has_quarantine=quarantine is not None,
            quarantine_sha256=quarantine_sha256,
        )
        write_sealed_json(manifest_path(self._folder, self._number), manifest.to_dict())
        return manifest


@contextmanager
def naming_damage(path: Path) -> Iterator[None]:
    """Turns what Arrow raises for a damaged shard into a ValueError with the remedy."""
    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the system's, not Arrow's
            raise
        raise DamagedError(f"{path}: not a whole Parquet file ({error}); {remedy(path)}") from error


def _open_shard(path: Path, stage: str) -> pq.ParquetFile:
    """Opens a Parquet file of this stage; of which version it is its manifest says.

    Raises:
        FileNotFoundError: no such file.
        ValueError: not a whole Parquet file, or of another stage.
    """
    import pyarrow.parquet as pq

    if not path.exists():
        raise FileNotFoundError(f"{path}: no such shard; run the stage that writes it")
    with naming_damage(path):
        file = pq.ParquetFile(path, page_checksum_verification=True)
        metadata = file.schema_arrow.metadata or {}
    written = metadata.get(STAGE_KEY, b"").decode(errors="replace")
    if written != stage:
        raise DamagedError(
            f"{path}: holds {written or 'rows of another program'}, expected {stage!r}; "
            f"{remedy(path)}"
        )
    return file


def read_shard(
    folder: Path,
    stage: str,
    number: int,
    columns: Sequence[str] | None = None,
    *,
    sha256: str | None = None,
) -> pa.Table:
    """Returns a shard's rows; see `read_row_groups`."""
    # One by one: Arrow cannot read lists of dictionary strings over several row groups at once.
    groups = list(read_row_groups(folder, stage, number, columns, sha256=sha256))
    if not groups:
        with _open_shard(shard_path(folder, number), stage) as file:
            groups = [file.schema_arrow.empty_table()]
    return pa.concat_tables(groups).select(columns or list(COLUMNS[stage]))


def read_row_groups(
    folder: Path,
    stage: str,
    number: int,
    columns: Sequence[str] | None = None,
    *,
    sha256: str | None = None,
) -> Iterator[pa.Table]:
    """Yields a shard's rows group by group, so that one group is in memory at a time.

    All bytes are held against their sha256 when the process first reads the shard, the pages
    against their own checksums each time. A shard without a manifest is not complete, and only its
    pages are checked.

    Args:
        columns: the columns to read; all when omitted.
        sha256: of the rows, where the stage's manifest says so; by default the shard's own does.

    Raises:
        FileNotFoundError: no such shard.
        ValueError: the shard or its manifest is damaged, of another stage, or of an unknown schema
            version; names the remedy.
    """
    path = shard_path(folder, number)
    if sha256 is None:
        read_verified_manifest(folder, number)
    else:
        check_rows(path, sha256)
    with _open_shard(path, stage) as file:
        for group in range(file.num_row_groups):
            with naming_damage(path):
                table = file.read_row_group(group, columns=columns and list(columns))
            yield table


def aligned_table(
    folders: Sequence[tuple[str, Path]], number: int, columns: Sequence[str] | None = None
) -> pa.Table:
    """Returns a shard's rows with the columns of these stages side by side.

    Args:
        folders: stages and where they are; of several of one stage the last one's columns are read.
        number: of the shard.
        columns: those wanted, in their order; all when omitted.

    Raises:
        FileNotFoundError: a stage has no such shard.
        ValueError: a shard is damaged, or the stages' shards differ in rows; names both.
    """
    of_column = {name: folder for folder in folders for name in COLUMNS[folder[0]]}
    wanted = list(of_column) if columns is None else columns
    arrays: dict[str, pa.ChunkedArray] = {}
    rows: dict[Path, int] = {}
    for folder in dict.fromkeys(of_column[name] for name in wanted):
        stage, path = folder
        names = [name for name in wanted if of_column[name] == folder]
        table = read_shard(path, stage, number, names)
        rows[shard_path(path, number)] = table.num_rows
        arrays |= dict(zip(names, table.columns, strict=True))
    check_same_rows(rows)
    return pa.table([arrays[name] for name in wanted], names=list(wanted))


def check_same_rows(rows: Mapping[Path, int]) -> None:
    """Refuses shards that are to be read side by side and differ in rows.

    Raises:
        ValueError: names two of them.
    """
    first, *others = rows
    for path in others:
        if rows[path] != rows[first]:
            raise DamagedError(
                f"{path} has {rows[path]} rows, {first} has {rows[first]}; parse this shard again"
            )
