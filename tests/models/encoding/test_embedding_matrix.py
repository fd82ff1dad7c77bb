"""All embeddings of a corpus as one matrix, and what `treeviews` makes of their folder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import treeviews
from tests.support.command import subcommand
from tests.support.shard_files import sentence_rows, write_stage
from treeviews.models.encoding.search import FloatArray, open_embeddings
from treeviews.pipeline.shards.arrow import flags, numbers
from treeviews.pipeline.shards.manifests import (
    read_shard_manifest,
    shard_path,
    write_dataset_manifest,
)
from treeviews.pipeline.shards.schema import EMBEDDINGS, Vectors, schema_for
from treeviews.pipeline.shards.shards import ShardWriter

inspect = subcommand("inspect")

VECTORS = np.random.default_rng(5).normal(size=(7, 4)).astype(np.float32)
NULL_ROW = 4
ROWS = ((0, 3), (3, 7))


def write_embeddings(
    folder: Path,
    number: int,
    vectors: FloatArray,
    *,
    nulls: Sequence[int] = (),
    digest: str = "d1",
    width: int | None = None,
    sentences_sha256: str = "",
) -> None:
    """Writes a shard of the vectors' own type."""
    kind = Vectors(vectors.shape[1], str(vectors.dtype))  # type: ignore[arg-type]
    is_null = np.isin(np.arange(len(vectors)), nulls)
    schema = schema_for(EMBEDDINGS, kind)
    rows = pa.FixedSizeListArray.from_arrays(
        numbers(vectors.reshape(-1)), type=schema.field(0).type, mask=flags(is_null)
    )
    with ShardWriter(folder, EMBEDDINGS, number, vectors=kind) as writer:
        writer.write(pa.Table.from_arrays([rows], schema=schema))
        writer.finish(
            drops={"no_dependencies": len(nulls)} if nulls else {},
            quarantine=[{"row": row, "reason": "no_dependencies"} for row in nulls],
            extra={
                "encoder": "by-hand",
                "encoder_digest": digest,
                "dtype": kind.dtype,
                "width": width or kind.width,
                "sentences_sha256": sentences_sha256,
            },
        )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Embeddings of two shards beside their sentences."""
    rows = sentence_rows([[f"word{row}"] for row in range(7)])
    sentences = write_stage(
        tmp_path / "sentences", "sentences", *(rows[start:stop] for start, stop in ROWS)
    )
    place = tmp_path / "embeddings-by-hand"
    for number, (start, stop) in enumerate(ROWS):
        source = read_shard_manifest(sentences, number)
        assert source is not None
        nulls = [NULL_ROW - start] if start <= NULL_ROW < stop else []
        sha256 = source.sha256
        write_embeddings(place, number, VECTORS[start:stop], nulls=nulls, sentences_sha256=sha256)
    write_dataset_manifest(place, EMBEDDINGS, config={})
    return place


def test_all_shards_are_one_matrix_with_zeros_for_nulls(folder: Path) -> None:
    corpus = treeviews.open_embeddings(folder)

    assert len(corpus) == len(VECTORS) and corpus.missing.tolist() == [NULL_ROW]
    is_there = np.arange(len(VECTORS)) != NULL_ROW
    np.testing.assert_array_equal(corpus.vectors[is_there], VECTORS[is_there])
    assert not corpus.vectors[NULL_ROW].any()
    assert [corpus.place_of(row) for row in (0, 2, 3, 6)] == [(0, 0), (0, 2), (1, 0), (1, 3)]
    with pytest.raises(IndexError, match="row 7 is not among 7"):
        corpus.place_of(7)
    assert treeviews.search(VECTORS[5], corpus.vectors, k=1).rows.tolist() == [5]


def test_the_matrix_is_mapped_and_unpacked_where_it_is_asked_for_once(
    folder: Path, tmp_path: Path
) -> None:
    before = sorted(folder.iterdir())
    place = tmp_path / "elsewhere"
    first = open_embeddings(folder, unpacked=place)
    assert isinstance(first.vectors, np.memmap) and not first.vectors.flags.writeable
    assert sorted(folder.iterdir()) == before and list(place.glob("vectors-*.npy"))
    expected = np.array(first.vectors)
    for lost in ("vectors", "missing"):
        (path,) = place.glob(f"{lost}-*.npy")
        path.unlink()
        again = open_embeddings(folder, unpacked=place)
        np.testing.assert_array_equal(again.vectors, expected)
        assert again.missing.tolist() == [NULL_ROW]

    for number in range(len(ROWS)):
        shard_path(folder, number).write_bytes(b"not looked at again")
    np.testing.assert_array_equal(open_embeddings(folder, unpacked=place).vectors, expected)


def test_damaged_shards_are_not_unpacked(folder: Path) -> None:
    path = shard_path(folder, 1)
    content = bytearray(path.read_bytes())
    content[40] ^= 1
    path.write_bytes(bytes(content))

    with pytest.raises(ValueError, match=r"00001\.parquet: sha256 differs"):
        open_embeddings(folder)
    assert not list(folder.glob("vectors-*"))


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (VECTORS[:, :3], r"shards of several widths \(4: \[0\]; 3: \[1\]\); embed all of them"),
        (VECTORS.astype(np.float16), r"of several types \(float32: \[0\]; float16: \[1\]\); embed"),
    ],
)
def test_shards_of_unlike_vectors_are_no_matrix(
    other: FloatArray, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "embeddings-by-hand"
    for number, vectors in enumerate((VECTORS, other)):
        write_embeddings(folder, number, vectors)
    write_dataset_manifest(folder, EMBEDDINGS, config={})

    with pytest.raises(ValueError, match=said):
        open_embeddings(folder)
    assert not list(folder.glob("vectors-*"))
    assert inspect(["check", str(folder)]) == 1
    assert re.search(said, capsys.readouterr().out)
