"""All embeddings of a corpus as one matrix, of which a process takes the memory that it reads.

Parquet is packed and cannot be mapped into memory. When a stage is first opened, its rows are
unpacked into one file of numpy's format beside the shards, group by group; every later opening maps
that file, and processes share its pages. The two files may be deleted at any
time; they are made again.

Legend: N sentences of all shards, d width of an embedding.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipeline.base.atomic_files import locked, write_by_library
from pipeline.base.digest import digest_of
from pipeline.shards.arrow import vectors_of
from pipeline.shards.manifests import (
    DTYPE,
    MANIFEST_NAME,
    WIDTH,
    DatasetManifest,
    parser_problems,
    read_dataset_manifest,
    remedy,
    shard_path,
)
from pipeline.shards.schema import EMBEDDING, EMBEDDINGS, Vectors
from pipeline.shards.shards import read_row_groups

_OF_ONE_KIND = f"delete the others and {MANIFEST_NAME} and run the stage again"
Place = tuple[int, int]
"""Number of a shard, and row in it."""


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddingMatrix:
    """The vectors of a corpus' sentences in its order, whatever shards they are in."""

    vectors: NDArray[np.float32] | NDArray[np.float16]
    """[N, d], mapped from a file and not to be written to; zeros where a sentence has none."""
    missing: NDArray[np.int64]
    """Rows without an embedding, in order."""
    first_rows: NDArray[np.int64]
    """Row at which each shard begins, and N; [shards + 1]."""

    def __len__(self) -> int:
        return len(self.vectors)

    def place_of(self, row: int) -> Place:
        """Returns the shard of a row and its row there, where the other stages have its sentence.

        Raises:
            IndexError: no such row.
        """
        if not 0 <= row < len(self):
            raise IndexError(f"row {row} is not among {len(self)}")
        shard = int(np.searchsorted(self.first_rows, row, side="right")) - 1
        return shard, int(row - self.first_rows[shard])


def open_embeddings(folder: str | Path, *, unpacked: str | Path | None = None) -> EmbeddingMatrix:
    """Returns the embeddings of a finished stage as one matrix.

    Args:
        folder: ``embeddings-…`` of a corpus.
        unpacked: folder of the unpacked file; by default the stage's own. It takes 2 or 4 bytes a
            number.

    Raises:
        FileNotFoundError: the stage is not complete.
        ValueError: it is no stage of embeddings, or damaged, or its shards differ in encoder,
            width or type; names the shards and the remedy.
    """
    place = Path(folder)
    manifest = read_dataset_manifest(place, EMBEDDINGS)
    into = place if unpacked is None else Path(unpacked)
    digest = digest_of({"shards": [shard.sha256 for shard in manifest.shards]})
    vectors, missing = into / f"vectors-{digest}.npy", into / f"missing-{digest}.npy"
    if not (vectors.exists() and missing.exists()):
        into.mkdir(parents=True, exist_ok=True)
        with locked(into / "unpacking.lock", lambda: None):
            if not (vectors.exists() and missing.exists()):
                _unpack(place, manifest, vectors, missing)
    return EmbeddingMatrix(
        np.load(vectors, mmap_mode="r"),
        np.load(missing),
        np.cumsum([0, *(shard.rows for shard in manifest.shards)]),
    )


def _unpack(place: Path, manifest: DatasetManifest, vectors: Path, missing: Path) -> None:
    """Writes the rows of all shards into one file, and then those that have no vector."""
    for problem in parser_problems(manifest.shards):
        raise ValueError(f"{place}: {problem}: {_OF_ONE_KIND}")
    kind = _kind_of(manifest)
    nulls: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]

    def write(path: Path) -> None:
        shape = (manifest.rows, kind.width)
        matrix = np.lib.format.open_memmap(path, mode="w+", dtype=kind.dtype, shape=shape)
        row = 0
        for shard in manifest.shards:
            for group in read_row_groups(place, EMBEDDINGS, shard.number, sha256=shard.sha256):
                _check_kind(shard_path(place, shard.number), group, kind)
                found, is_null = vectors_of(group[EMBEDDING])
                matrix[row : row + len(found)] = found
                nulls.append(row + np.flatnonzero(is_null))
                row += len(found)
        matrix.flush()

    def write_missing(path: Path) -> None:
        with path.open("wb") as stream:  # numpy itself would add to the name
            np.save(stream, np.concatenate(nulls))

    write_by_library(vectors, write)
    write_by_library(missing, write_missing)


def _kind_of(manifest: DatasetManifest) -> Vectors:
    """Returns width and type of all rows, as the shards say them; nobody says them of none."""
    facts: dict[str, Any] = {WIDTH: 0, DTYPE: "float32"}
    for shard in manifest.shards:
        facts |= {key: shard.extra[key] for key in facts if key in shard.extra}
    return Vectors(facts[WIDTH], facts[DTYPE])


def _check_kind(path: Path, group: pa.Table, kind: Vectors) -> None:
    expected, found = kind.schema().field(0).type, group.schema.field(EMBEDDING).type
    if found != expected:
        raise ValueError(
            f"{path}: rows are {found}, the shards' manifests say {expected}; {remedy(path)}"
        )
