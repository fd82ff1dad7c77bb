"""All embeddings of a corpus as one matrix, and what `treeviews` makes of their folder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import treeviews
from models.encoding.search import FloatArray, open_embeddings
from pipeline.shards.arrow import flags, numbers
from pipeline.shards.manifests import read_shard_manifest, shard_path, write_dataset_manifest
from pipeline.shards.schema import EMBEDDINGS, Vectors, schema_for
from pipeline.shards.shards import ShardWriter
from tests.support.command import subcommand
from tests.support.shard_files import sentence_rows, write_stage

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
    corpus = open_embeddings(folder)

    assert len(corpus) == len(VECTORS) and corpus.missing.tolist() == [NULL_ROW]
    is_there = np.arange(len(VECTORS)) != NULL_ROW
    np.testing.assert_array_equal(corpus.vectors[is_there], VECTORS[is_there])
    assert not corpus.vectors[NULL_ROW].any()


def test_a_row_is_found_in_its_shard(folder: Path) -> None:
    corpus = open_embeddings(folder)

    assert [corpus.place_of(row) for row in (0, 2, 3, 6)] == [(0, 0), (0, 2), (1, 0), (1, 3)]
    with pytest.raises(IndexError, match="row 7 is not among 7"):
        corpus.place_of(7)


def test_the_matrix_is_mapped_and_unpacked_once(folder: Path) -> None:
    first = open_embeddings(folder)
    assert isinstance(first.vectors, np.memmap) and not first.vectors.flags.writeable

    for number in range(len(ROWS)):
        shard_path(folder, number).write_bytes(b"not looked at again")

    np.testing.assert_array_equal(open_embeddings(folder).vectors, first.vectors)


def test_the_unpacked_file_may_lie_elsewhere(folder: Path, tmp_path: Path) -> None:
    before = sorted(folder.iterdir())

    open_embeddings(folder, unpacked=tmp_path / "elsewhere")

    assert sorted(folder.iterdir()) == before
    assert list((tmp_path / "elsewhere").glob("vectors-*.npy"))


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


@pytest.mark.parametrize("lost", ["vectors", "missing"])
def test_either_file_that_was_deleted_is_unpacked_again(folder: Path, lost: str) -> None:
    expected = np.array(open_embeddings(folder).vectors)
    (path,) = folder.glob(f"{lost}-*.npy")
    path.unlink()

    corpus = open_embeddings(folder)

    np.testing.assert_array_equal(corpus.vectors, expected)
    assert corpus.missing.tolist() == [NULL_ROW]


def test_neighbours_are_found_among_all_shards(folder: Path) -> None:
    corpus = treeviews.open_embeddings(folder)

    assert treeviews.search(VECTORS[5], corpus.vectors, k=1).rows.tolist() == [5]


def test_shards_are_read_as_those_of_other_stages(folder: Path) -> None:
    tables = list(treeviews.read_shards(folder.parent, ["tokens", "embedding"]))

    assert [table.num_rows for table in tables] == [3, 4]
    assert tables[1]["tokens"][1].as_py() == [f"word{NULL_ROW}"]
    assert tables[1]["embedding"][1].as_py() is None
    np.testing.assert_array_equal(tables[0]["embedding"][2].as_py(), VECTORS[2])


@pytest.mark.parametrize(
    ("vectors", "changes", "problem"),
    [
        (VECTORS[:2], {}, "2 rows, the sentences have 3"),
        (VECTORS[:3], {"sentences_sha256": "0"}, "was parsed from other sentences"),
        (
            np.full((3, 4), np.nan, np.float32),
            {},
            "row 0 field embedding: has a number that is not",
        ),
    ],
)
def test_check_finds_what_is_wrong(
    folder: Path,
    vectors: FloatArray,
    changes: dict[str, object],
    problem: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = read_shard_manifest(folder.parent / "sentences", 0)
    assert source is not None
    facts = {"sentences_sha256": source.sha256} | changes
    write_embeddings(folder, 0, vectors, **facts)  # type: ignore[arg-type]

    assert inspect(["check", str(folder)]) == 1
    assert problem in capsys.readouterr().out
