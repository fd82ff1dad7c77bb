"""A training beside pairs, which the run makes of its own text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest

import models
from pipeline.shards.manifests import read_dataset_manifest
from pipeline.shards.shards import read_shard
from tasks import MakePairs, TrainEncoders
from tests.support.luigi_builds import build
from tests.support.stories import write_stories

pytestmark = pytest.mark.slow


def test_a_run_makes_pairs_of_its_text_and_trains_beside_them(tmp_path: Path) -> None:
    text = write_stories(tmp_path / "text", num_documents=6, num_sentences=20)
    task = TrainEncoders(
        work_folder=tmp_path / "work",
        source="files",
        paths=str(text),
        preset="trees-beside-words",
        changes={"hidden_size": 4, "batch_size": 24},
        held_out_fraction=0.5,
    )

    assert build(task)

    pairs = cast(MakePairs, task.requires()["pairs"])
    assert pairs.complete()
    (shard,) = read_dataset_manifest(pairs.folders.sentences, "sentences").shards
    summary = json.loads((task.folder / "summary.json").read_text(encoding="utf-8"))
    assert summary["pairs"]["sentences"] == shard.rows > 50
    assert summary["pairs"]["passes"] == round(8 * summary["steps"] / shard.rows, 3)
    rows = read_shard(pairs.folders.sentences, "sentences", 0).to_pylist()
    sources = {row["document_id"].rpartition(":")[0] for row in rows}
    assert sources and not any(map(task.config.hold_out.takes, sources))
    vectors = models.load(task.folder).encode(["The old dog found the red boat."])
    assert vectors.shape == (1, 4 + 4 + 100)

    files = {path: path.stat().st_mtime_ns for path in task.work_folder.rglob("*.parquet")}
    assert build(task)
    assert files == {path: path.stat().st_mtime_ns for path in task.work_folder.rglob("*.parquet")}
