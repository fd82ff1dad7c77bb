"""Shards in a folder or an object store: whole or absent there, verified on the way back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command import subcommand
from tests.support.object_store import object_store
from tests.support.sentence_shards import write_sentences
from treeviews.pipeline.shards.manifests import (
    MANIFEST_NAME,
    shard_path,
)
from treeviews.pipeline.storage.location import Storage
from treeviews.pipeline.storage.shared_shards import StoredStage

inspect = subcommand("inspect")


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    with object_store() as address:
        yield address


@pytest.fixture(params=["folder", "s3"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "folder":
        return str(tmp_path / "shared")
    bucket: str = request.getfixturevalue("bucket")
    path, _, settings = bucket.partition("?")
    return f"{path}/{tmp_path.name}?{settings}"


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    return write_sentences(tmp_path / "sentences", 2)


def test_a_file_is_read_as_it_was_written_and_may_be_replaced(address: str) -> None:
    storage = Storage(address)
    assert storage.inside("a").names() == set()
    assert not storage.has("a/b.txt")

    storage.write("a/b.txt", b"first")
    storage.write("a/b.txt", b"second")

    assert storage.read("a/b.txt") == b"second"
    assert storage.inside("a").names() == {"b.txt"}
    assert storage.has("a/b.txt")


def test_a_bucket_that_is_not_there_is_an_error_with_its_remedy(bucket: str) -> None:
    with pytest.raises(OSError, match=r"s3://elsewhere/x/a: .*AWS_ACCESS_KEY_ID"):
        Storage(bucket.replace("treeviews/prefix", "elsewhere/x")).write("a", b"")


def test_shards_come_back_as_they_went(address: str, shards: Path, tmp_path: Path) -> None:
    stage = StoredStage(Storage(address).inside("corpora/c/sentences"))
    stage.publish_all(shards, [0, 1])
    assert stage.numbers() == {0, 1}

    stage.fetch(tmp_path / "copy", 1, "sentences")

    names = sorted(path.name for path in (tmp_path / "copy").iterdir())
    assert names == ["00001.json", "00001.parquet", "00001.quarantine.jsonl"]
    for name in names:
        assert (tmp_path / "copy" / name).read_bytes() == (shards / name).read_bytes()


@pytest.mark.parametrize("name", ["00000.parquet", "00000.quarantine.jsonl"])
def test_a_shard_damaged_in_the_storage_is_refused_and_leaves_nothing(
    address: str, shards: Path, tmp_path: Path, name: str
) -> None:
    storage = Storage(address)
    stage = StoredStage(storage.inside("sentences"))
    stage.publish(shards, 0)
    storage.write(f"sentences/{name}", b"something else")

    with pytest.raises(ValueError, match=rf"sentences/{name}: sha256 differs .* delete"):
        stage.fetch(tmp_path / "copy", 0, "sentences")
    assert not shard_path(tmp_path / "copy", 0).exists()


@pytest.mark.parametrize(
    ("number", "expected", "difference"),
    [
        (0, {"stage": "constituents"}, "stage is 'sentences' instead of 'constituents'"),
        (1, {"stage": "sentences"}, "number is '0' instead of '1'"),
        (0, {"stage": "sentences", "parser_checksum": "00"}, "parser_checksum is None instead"),
    ],
)
def test_another_shard_than_the_one_wanted_is_refused_and_leaves_nothing(
    shards: Path, tmp_path: Path, number: int, expected: dict[str, str], difference: str
) -> None:
    shared = tmp_path / "shared" / "sentences"
    stage = StoredStage(Storage(str(shared.parent)).inside("sentences"))
    stage.publish(shards, 0)
    for path in list(shared.iterdir()):  # copied over those of shard 1
        (shared / path.name.replace("00000", "00001")).write_bytes(path.read_bytes())

    with pytest.raises(ValueError, match=f"not the shard that is wanted, as its .*{difference}"):
        stage.fetch(tmp_path / "copy", number, **expected)
    assert not (tmp_path / "copy").exists()


def test_leftovers_of_killed_writers_are_ignored_and_swept(shards: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    stage = StoredStage(Storage(str(shared)).inside("sentences"))
    leftover = shared / "sentences" / "00007.parquet.123.unfinished"
    leftover.parent.mkdir(parents=True)
    leftover.write_bytes(b"half")
    os.utime(leftover, (0, 0))
    another = shared / "sentences" / "00008.parquet.456.unfinished"
    another.write_bytes(b"being written")

    stage.publish_all(shards, [0, 1])

    assert stage.numbers() == {0, 1}
    assert not leftover.exists()
    assert another.exists()
    assert (shared / "sentences" / MANIFEST_NAME).exists()


def test_an_address_that_cannot_be_read_does_not_show_its_secrets() -> None:
    with pytest.raises(ValueError, match=r"s3://bucket/x: .*percent-encoded") as error:
        Storage("s3://KEY:se/cret+x@bucket/x")
    assert error.value.__suppress_context__  # Arrow's words, which repeat the address
