"""Shards are whole or absent, verified when written, and refuse what they do not know."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.edited_json import replace
from tests.support.shard_files import write_shard
from treeviews.pipeline.base.atomic_files import sweep_unfinished
from treeviews.pipeline.base.digest import sha256_of_file
from treeviews.pipeline.shards import shards
from treeviews.pipeline.shards.manifests import (
    complete_shards,
    manifest_path,
    quarantine_path,
    read_dataset_manifest,
    read_shard_manifest,
    shard_path,
    stands_whole,
    write_dataset_manifest,
)
from treeviews.pipeline.shards.schema import schema_for
from treeviews.pipeline.shards.shards import (
    ShardWriter,
    read_shard,
    rows_in_shard,
)

ROWS = [
    {"document_id": "a", "sentence_index": 0, "tokens": ["Rain", "fell", "."]},
    {"document_id": "a", "sentence_index": 2, "tokens": ["It", "stopped", "\t", "🙂"]},
]


def table(rows: list[dict[str, object]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=schema_for("sentences"))


def test_a_shard_of_several_row_groups_reads_back_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "ROW_GROUP_ROWS", 3)
    parses = [
        {"heads": [0, 1][: 1 + row % 2], "deprels": ["root", f"r{row}"][: 1 + row % 2]}
        for row in range(8)
    ]
    rows = pa.Table.from_pylist(parses, schema=schema_for("dependencies"))

    write_shard(tmp_path, "dependencies", 0, rows)

    assert pq.ParquetFile(shard_path(tmp_path, 0)).num_row_groups == 3
    assert read_shard(tmp_path, "dependencies", 0).to_pylist() == parses


def test_the_manifest_counts_rows_drops_and_bytes(tmp_path: Path) -> None:
    refused = [{"document_id": "a", "sentence_index": 1, "reason": "too_long"}]

    manifest = write_shard(
        tmp_path, "sentences", 0, table(ROWS), drops={"too_long": 1}, quarantine=refused
    )

    path = shard_path(tmp_path, 0)
    assert (manifest.rows, manifest.drops) == (2, {"too_long": 1})
    assert manifest.bytes == path.stat().st_size
    assert manifest.sha256 == sha256_of_file(path)
    assert '"too_long"' in quarantine_path(tmp_path, 0).read_text(encoding="utf-8")
    assert read_shard_manifest(tmp_path, 0) == manifest
    assert read_shard(tmp_path, "sentences", 0).to_pylist() == ROWS
    again = write_shard(tmp_path / "again", "sentences", 0, table(ROWS))
    assert again.sha256 == manifest.sha256
    for number in (1, 3):
        write_shard(tmp_path, "sentences", number, table(ROWS))
    assert [shard.number for shard in complete_shards(tmp_path)] == [0, 1]
    summed = write_dataset_manifest(tmp_path, "sentences", config={"limit": 0}, num_shards=2)
    assert summed == read_dataset_manifest(tmp_path, "sentences")
    assert (summed.rows, summed.drops, summed.config) == (4, {"too_long": 1}, {"limit": 0})


def test_a_crash_before_the_manifest_leaves_no_complete_shard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(path: Path, value: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(shards, "write_sealed_json", crash)
    with pytest.raises(KeyboardInterrupt):
        write_shard(tmp_path, "sentences", 0, table(ROWS))

    assert complete_shards(tmp_path) == []


@pytest.mark.parametrize("num_pieces", [0, 2])
def test_a_shard_that_is_given_up_leaves_nothing(tmp_path: Path, num_pieces: int) -> None:
    with pytest.raises(KeyboardInterrupt), ShardWriter(tmp_path, "sentences", 0) as writer:
        for _ in range(num_pieces):
            writer.write(table(ROWS))
        raise KeyboardInterrupt

    assert list(tmp_path.iterdir()) == []


KILLED_WRITER = """
import os, signal, sys
from pathlib import Path
import pyarrow as pa
from treeviews.pipeline.shards.shards import (ShardWriter)

writer = ShardWriter(Path(sys.argv[1]), "sentences", 0)
writer.write(pa.table({"document_id": ["a"], "sentence_index": [0], "tokens": [["x"]]}))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_writer_leaves_only_what_readers_ignore_and_the_sweep_removes(
    tmp_path: Path,
) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED_WRITER, str(tmp_path)], check=False)

    assert done.returncode == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 1
    assert complete_shards(tmp_path) == []
    with pytest.raises(FileNotFoundError):
        read_shard(tmp_path, "sentences", 0)
    assert sweep_unfinished(tmp_path) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("standing", "num_shards", "missing"),
    [((0, 1, 3), 5, "2, 4 of 5"), ((0, 2), None, "1 of 3"), ((), 1, "0 of 1")],
)
def test_a_stage_with_missing_shards_is_not_marked_complete(
    tmp_path: Path, standing: tuple[int, ...], num_shards: int | None, missing: str
) -> None:
    for number in standing:
        write_shard(tmp_path, "sentences", number, table(ROWS))

    with pytest.raises(FileNotFoundError, match=f"shards {missing} are missing .* run the stage"):
        write_dataset_manifest(tmp_path, "sentences", config={}, num_shards=num_shards)
    assert not (tmp_path / "manifest.json").exists()


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (None, "", "not readable as a manifest (JSONDecodeError"),
        ('"rows"', '"lines"', "not readable as a manifest (MistakesError: unknown manifest fields"),
        ("2,", "3,", "not readable as a manifest (DamagedError: "),
        ('"schema_version": 1', '"schema_version": 0', "schema version 0, this release reads 1"),
    ],
)
@pytest.mark.parametrize("name", ["00000.json", "manifest.json"])
def test_a_broken_manifest_is_named_with_its_remedy(
    tmp_path: Path, name: str, old: str | None, new: str, problem: str
) -> None:
    write_shard(tmp_path, "sentences", 0, table(ROWS))
    write_dataset_manifest(tmp_path, "sentences", config={})
    path = tmp_path / name
    if old is None:
        path.write_text(new, encoding="utf-8")
    elif old == "2,":  # without its seal
        path.write_text(path.read_text().replace('"rows": 2,', '"rows": 3,'))
    else:
        replace(path, old, new)

    with pytest.raises(ValueError, match="run the stage again") as caught:
        if name == "00000.json":
            read_shard_manifest(tmp_path, 0)
        else:
            read_dataset_manifest(tmp_path)
    assert str(caught.value).startswith(f"{path}: {problem}")


def flip_a_bit(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("place", range(0, 1400, 350))
def test_a_shard_of_which_a_bit_was_flipped_is_named_with_its_remedy(
    tmp_path: Path, place: int
) -> None:
    write_shard(tmp_path, "sentences", 0, table(ROWS))
    read_shard(tmp_path, "sentences", 0)
    flip_a_bit(shard_path(tmp_path, 0), place)

    with pytest.raises(ValueError, match=r"00000\.parquet: sha256 differs .* delete .* run the"):
        read_shard(tmp_path, "sentences", 0)


def test_pages_are_checked_where_no_manifest_is(tmp_path: Path) -> None:
    write_shard(tmp_path, "sentences", 0, table(ROWS))
    page = pq.ParquetFile(shard_path(tmp_path, 0)).metadata.row_group(0).column(2)
    manifest_path(tmp_path, 0).unlink()
    start = page.dictionary_page_offset or page.data_page_offset
    flip_a_bit(shard_path(tmp_path, 0), start + page.total_compressed_size - 5)

    with pytest.raises(ValueError, match=r"00000\.parquet: not a whole .* CRC checksum"):
        read_shard(tmp_path, "sentences", 0)


@pytest.mark.parametrize("name", ["00000.parquet", "00000.json", "manifest.json", "plan.txt"])
def test_a_stage_that_lacks_a_file_does_not_stand_whole(tmp_path: Path, name: str) -> None:
    write_shard(tmp_path, "sentences", 0, table(ROWS))
    (tmp_path / "plan.txt").write_text("x")
    write_dataset_manifest(tmp_path, "sentences", config={}, files=[tmp_path / "plan.txt"])
    assert stands_whole(tmp_path)

    (tmp_path / name).unlink()

    assert not stands_whole(tmp_path)


def test_what_is_no_shard_of_the_stage_is_named(tmp_path: Path) -> None:
    shard_path(tmp_path, 0).write_bytes(b"not parquet")
    with pytest.raises(ValueError, match=r"00000\.parquet: not a whole Parquet file.*run the"):
        read_shard(tmp_path, "sentences", 0)
    write_shard(tmp_path, "sentences", 0, table(ROWS))
    with pytest.raises(ValueError, match=r"holds sentences, expected 'dependencies'"):
        read_shard(tmp_path, "dependencies", 0)
    with pytest.raises(FileNotFoundError, match=r"not complete; run it again"):
        read_dataset_manifest(tmp_path, "sentences")


def test_shards_double_every_four_until_the_maximum() -> None:
    sizes = [rows_in_shard(number) for number in (0, 3, 4, 8, 100)]

    assert sizes == [4_000, 4_000, 8_000, 16_000, 100_000]
