"""Stages whose shards other machines make and use: what is taken, given and refused."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.support.chain_job import MODULE
from tests.support.luigi_builds import build
from tests.support.object_store import object_store
from tests.support.sentence_shards import (
    ChainStage,
    chain_stage,
    write_chain_parser,
    write_sentences,
)
from treeviews.pipeline.parsers.parser_files import checksum_of_parser_folder
from treeviews.pipeline.parsing.parse_shard import describe_parsing
from treeviews.pipeline.shards.manifests import read_dataset_manifest, shard_path
from treeviews.pipeline.storage.location import Storage
from treeviews.pipeline.storage.shared_shards import StoredStage
from treeviews.pipeline.storage.stored_job import SCRATCH_PREFIX, StoredJob, make_stored_shards
from treeviews.tasks.checks import mistakes_in


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which scratch folders are made."""
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    return tmp_path / "scratch"


@pytest.fixture
def job(tmp_path: Path) -> StoredJob:
    """The job of shard 1 of three whose sentences are in the storage."""
    sentences = write_sentences(tmp_path / "sentences", 3)
    stored = StoredStage(Storage(str(tmp_path / "shared")).inside("sentences"))
    for number in (0, 1):
        stored.publish(sentences, number)
    paths = {"sentences": "/work/sentences", "output": "/work/parses", "parser": "/work/chain"}
    folders = zip(paths.values(), ("sentences", "output", "parser/chain"), strict=True)
    describe = partial(describe_parsing, "dependencies")
    return StoredJob(
        storage=str(tmp_path / "shared"),
        output="parses",
        number=1,
        module=MODULE,
        values={"stage": "dependencies", **paths},
        folders=dict(folders),
        inputs={"sentences": "sentences"},
        files_folder="parser/chain",
        describe=describe,
        described=describe(),
    )


def told(job: StoredJob, **values: object) -> StoredJob:
    """Returns a job whose file says something else."""
    return replace(job, values={**job.values, **values})


def parser_files(folder: Path) -> dict[str, bytes]:
    written = write_chain_parser(folder / "chain")
    return {path.name: path.read_bytes() for path in written.iterdir()}


def test_a_job_takes_its_sentences_from_the_storage_and_gives_it_the_parses(
    job: StoredJob, tmp_path: Path, scratch: Path
) -> None:
    assert make_stored_shards(job, parser_files(tmp_path)) == 1

    parses = StoredStage(Storage(job.storage).inside("parses"))
    assert parses.numbers() == {1}
    manifest = parses.fetch(tmp_path / "copy", 1, "dependencies")
    assert (manifest.rows, manifest.drops) == (3, {"odd_word": 1})
    checksum = checksum_of_parser_folder(tmp_path / "chain")
    assert manifest.extra["parser_checksum"] == checksum
    assert list(scratch.glob(f"{SCRATCH_PREFIX}*")) == []


def test_a_shard_cut_short_in_a_folder_is_made_again(job: StoredJob, tmp_path: Path) -> None:
    files = parser_files(tmp_path)
    make_stored_shards(job, files)
    rows = tmp_path / "shared" / "parses" / "00001.parquet"
    whole = rows.read_bytes()
    rows.write_bytes(whole[:-1])

    make_stored_shards(job, files)

    assert rows.read_bytes() == whole


@pytest.mark.slow
def test_a_range_goes_around_what_stands_and_gives_each_shard_when_it_is_made(
    job: StoredJob, tmp_path: Path
) -> None:
    stored = StoredStage(Storage(job.storage).inside("sentences"))
    stored.publish_all(write_sentences(tmp_path / "more", 5), range(5))
    files = parser_files(tmp_path)
    make_stored_shards(replace(job, number=1), files)
    whole = told(replace(job, number=0, count=5), journal=str(tmp_path / "journal"))

    with pytest.raises(RuntimeError, match="broken on purpose"):
        make_stored_shards(told(whole, broken=3), files)
    assert StoredStage(Storage(job.storage).inside("parses")).numbers() == {0, 1, 2}
    assert make_stored_shards(whole, files) == 0

    assert StoredStage(Storage(job.storage).inside("parses")).numbers() == set(range(5))
    assert (tmp_path / "journal").read_text().split() == ["0", "2", "3", "4"]
    with pytest.raises(FileNotFoundError, match=r"shared/sentences/00005\.json: not in the storag"):
        make_stored_shards(replace(job, number=5), files)


def test_a_job_that_fails_publishes_its_traceback_and_no_shard(
    job: StoredJob, tmp_path: Path, scratch: Path
) -> None:
    with pytest.raises(RuntimeError, match=r"broken on purpose \[traceback: .*/shared/parses/jobs"):
        make_stored_shards(told(job, broken=1), parser_files(tmp_path))

    kept = (tmp_path / "shared/parses/jobs/00001.json.traceback.txt").read_text(encoding="utf-8")
    assert "broken on purpose" in kept
    assert StoredStage(Storage(job.storage).inside("parses")).numbers() == set()
    assert list(scratch.glob(f"{SCRATCH_PREFIX}*")) == []


@pytest.mark.slow
def test_another_machine_takes_the_parses_and_parses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with object_store() as storage:
        here = chain_stage(tmp_path, num_shards=3, storage=storage)
        assert build(here)
        monkeypatch.setattr(ChainStage, "more_options", {"broken": 1})
        there = chain_stage(tmp_path, num_shards=3, storage=storage, work_folder=tmp_path / "other")
        assert build(there)

    assert there.folder != here.folder
    for number in range(3):
        rows = shard_path(here.folder, number).read_bytes()
        assert shard_path(there.folder, number).read_bytes() == rows
    assert read_dataset_manifest(there.folder).rows == 9


@pytest.mark.slow
def test_a_stage_that_stands_is_published_when_a_storage_is_named(tmp_path: Path) -> None:
    assert build(chain_stage(tmp_path, num_shards=2))
    shared = chain_stage(tmp_path, num_shards=2, storage=str(tmp_path / "shared"))
    assert not shared.complete()
    before = shard_path(shared.folder, 0).stat().st_mtime_ns

    assert build(shared)

    assert shared.complete()
    assert shard_path(shared.folder, 0).stat().st_mtime_ns == before
    corpus = tmp_path / "shared" / shared.folder.parent.relative_to(tmp_path / "work")
    for stage in (shared.folder.name, "sentences"):
        assert read_dataset_manifest(corpus / stage).rows == 6


@pytest.mark.slow
def test_parses_of_other_sentences_are_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shared = str(tmp_path / "shared")
    assert build(chain_stage(tmp_path, num_shards=2, storage=shared))
    there = chain_stage(tmp_path, num_shards=2, storage=shared, work_folder=tmp_path / "other")
    write_sentences(there.sentences.folder, 2, rows=5)

    assert not build(there)

    assert "sentences/00000.parquet: the storage" in caplog.text
    assert not shard_path(there.folder, 0).exists()


def test_without_ray_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    stage = chain_stage(tmp_path, num_shards=1, engine="ray")

    assert any("pip install ray " in mistake for mistake in mistakes_in(stage))


@pytest.mark.parametrize("name", ["../../../planted", "{}/planted", "a/../../b"])
def test_no_file_is_written_outside_a_nodes_scratch_folder(
    job: StoredJob, tmp_path: Path, name: str
) -> None:
    files = {**parser_files(tmp_path), name.format(tmp_path): b"planted"}

    with pytest.raises(ValueError, match=r"names a file .*only relative names of files"):
        make_stored_shards(job, files)
    assert not [path for path in tmp_path.rglob("*") if path.name == "planted"]
    with pytest.raises(ValueError, match=r"names a file '\.\.'.*leads out of the folder"):
        make_stored_shards(replace(job, files_folder=".."), parser_files(tmp_path / "more"))
