"""The stage that splits a corpus, part by part in jobs of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.luigi_builds import build
from tests.support.ray_tests import on_ray
from treeviews.pipeline.shards.manifests import (
    read_dataset_manifest,
    shard_numbers,
    shard_path,
)
from treeviews.pipeline.text import plan, split_corpus
from treeviews.pipeline.text.documents import Source
from treeviews.tasks import artefact
from treeviews.tasks.sentences import SplitSentences

NAMES = ("Ada", "Ben", "Cem", "Dov", "Eva", "Fay", "Gus", "Hal")


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of 40 documents, of which two make a part and four a job."""
    monkeypatch.setattr(plan, "_target", lambda number: 400)
    monkeypatch.setattr(split_corpus, "JOB_BYTES", 1_500)
    folder = tmp_path / "text"
    folder.mkdir()
    for number in range(40):
        lines = [f"{NAMES[(number + n) % 8]} saw {number} boats on day {n}.\n" for n in range(10)]
        (folder / f"{number:02d}.txt").write_text("\n".join(lines), encoding="utf-8")
    return folder


def stage(text: Path, work: Path, **parameters: Any) -> SplitSentences:
    return SplitSentences(source="files", paths=str(text), work_folder=work, **parameters)


def shards(folder: Path) -> list[bytes]:
    return [shard_path(folder, number).read_bytes() for number in shard_numbers(folder)]


def in_one_job(text: Path, work: Path, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Returns the shards that one job makes of all parts."""
    with monkeypatch.context() as patch:
        patch.setattr(split_corpus, "JOB_BYTES", 1 << 30)
        whole = stage(text, work)
        assert build(whole)
    assert len(list((whole.folder / "jobs").glob("*.json"))) == 1
    return shards(whole.folder)


@pytest.mark.slow
def test_many_jobs_make_the_shards_that_one_makes(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = stage(text, tmp_path / "many")
    assert build(many)
    assert len(list((many.folder / "jobs").glob("*.json"))) > 3
    assert read_dataset_manifest(many.folder).rows == 400
    assert shards(many.folder) == in_one_job(text, tmp_path / "one", monkeypatch)


@pytest.mark.slow
def test_a_run_goes_on_where_a_job_was_killed(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = stage(text, tmp_path / "killed")
    run = artefact.run_job_process

    def killed(module: str, job: Any, path: Path, *arguments: Any, **named: Any) -> None:
        if job["number"]:
            raise RuntimeError("killed")
        run(module, job, path, *arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(artefact, "run_job_process", killed)
        assert not build(first)
    made = shards(first.folder)
    assert 0 < len(made) < 10
    assert not first.complete()
    assert build(stage(text, tmp_path / "killed"))
    assert shards(first.folder)[: len(made)] == made
    assert shards(first.folder) == in_one_job(text, tmp_path / "one", monkeypatch)


@pytest.mark.slow
def test_a_limit_ends_the_corpus_within_a_shard(text: Path, tmp_path: Path) -> None:
    limited = stage(text, tmp_path / "work", limit=43)
    assert build(limited)
    assert read_dataset_manifest(limited.folder).rows == 43
    jobs = [json.loads(path.read_text()) for path in (limited.folder / "jobs").glob("*.json")]
    assert sum(job["count"] for job in jobs) < 20  # not all parts were split for it


@pytest.fixture
def short_plans(text: Path, monkeypatch: pytest.MonkeyPatch) -> list[plan.Plan]:
    """Plans that begin with a part and go further in small steps; returns them."""
    monkeypatch.setattr(split_corpus, "BYTES_PER_ROW", 1)
    made: list[plan.Plan] = []

    def noting(source: Source, num_bytes: float) -> plan.Plan:
        made.append(plan.plan_of(source, num_bytes))
        return made[-1]

    monkeypatch.setattr(split_corpus, "plan_of", noting)
    return made


def by_a_whole_plan(
    text: Path, work: Path, monkeypatch: pytest.MonkeyPatch, **parameters: Any
) -> list[bytes]:
    with monkeypatch.context() as patch:
        patch.setattr(split_corpus, "plan_of", lambda source, _: plan.plan_of(source))
        whole = stage(text, work, **parameters)
        assert build(whole)
    return shards(whole.folder)


@pytest.mark.slow
def test_a_plan_goes_further_where_it_does_not_reach_the_limit(
    text: Path, tmp_path: Path, short_plans: list[plan.Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    limited = stage(text, tmp_path / "work", limit=263)
    run = artefact.run_job_process

    def killed(*arguments: Any, **named: Any) -> None:
        if len(short_plans) == 3:
            raise RuntimeError("killed")
        run(*arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(artefact, "run_job_process", killed)
        assert not build(limited)
    assert build(stage(text, tmp_path / "work", limit=263))

    assert len(short_plans) >= 3
    assert read_dataset_manifest(limited.folder).rows == 263
    whole = by_a_whole_plan(text, tmp_path / "whole", monkeypatch, limit=263)
    assert shards(limited.folder) == whole


@pytest.mark.slow
def test_duplicates_go_wherever_they_stand(text: Path, tmp_path: Path) -> None:
    words = "Nobody who was there that evening could say how the old harbour had looked before."
    for number in (3, 38):
        with (text / f"{number:02d}.txt").open("a", encoding="utf-8") as stream:
            stream.write(f"\n{words}\n")
    cleaned = stage(text, tmp_path / "work", cleaning_changes={"duplicates": "exact"})
    assert build(cleaned)
    manifest = read_dataset_manifest(cleaned.folder)
    assert (manifest.rows, manifest.drops) == (401, {"exact_duplicate": 1})
    assert cleaned.digest != stage(text, tmp_path / "work").digest


@on_ray
def test_ray_splits_into_a_storage_that_others_take_from(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray")
    storage = tmp_path / "shared"
    engine = {"engine": "ray", "ray_address": "local", "storage": str(storage)}
    on_ray = stage(text, tmp_path / "here", **engine)
    assert build(on_ray)
    assert shards(on_ray.folder) == in_one_job(text, tmp_path / "one", monkeypatch)
    stored = storage / on_ray.folder.relative_to(tmp_path / "here")
    assert shards(stored) == shards(on_ray.folder)
    before = {path: path.stat().st_mtime_ns for path in stored.glob("*.parquet")}
    elsewhere = stage(text, tmp_path / "there", **engine)
    assert build(elsewhere)
    assert shards(elsewhere.folder) == shards(on_ray.folder)
    assert {path: path.stat().st_mtime_ns for path in stored.glob("*.parquet")} == before
