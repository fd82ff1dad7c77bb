"""The tasks that parse: what makes a shard complete, and what their paths depend on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.support.edited_json import edit
from tests.support.luigi_builds import build
from tests.support.sentence_shards import chain_stage
from treeviews.pipeline.base.digest import sha256_of_file
from treeviews.pipeline.parsing import parse_shard as parsing
from treeviews.pipeline.shards.manifests import read_dataset_manifest, shard_path
from treeviews.tasks.parsing import ParseConstituents, ParseDependencies, ParseStage
from treeviews.tasks.sentences import SplitSentences


@pytest.mark.parametrize(
    ("stage", "constant"),
    [
        (ParseDependencies, "PARSING_VERSION"),
        (ParseDependencies, "MAX_TOKENS"),
        (ParseConstituents, "PARSING_VERSION"),
        (ParseConstituents, "BINARIZATION_VERSION"),
    ],
)
def test_a_change_of_how_is_parsed_changes_the_path(
    stage: type[ParseStage], constant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = tmp_path / "story.txt"
    text.write_text("The rain stopped. The children ran out.\n", encoding="utf-8")
    task = stage(work_folder=tmp_path, source="files", paths=str(text))
    before = task.content()

    assert stage(**task.param_kwargs | {"parser_batch_tokens": 9}).content() == before
    assert stage(**task.param_kwargs | {"parser_precision": "fast"}).content() != before
    monkeypatch.setattr(parsing, constant, 99)

    assert task.content() != before


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "story.txt"
    path.write_text("The rain stopped. The children ran out.\n", encoding="utf-8")
    return path


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.slow
@pytest.mark.parametrize("damage", [Path.unlink, cut])
@pytest.mark.parametrize("name", ["00000.parquet", "00000.json"])
def test_sentences_of_which_a_file_is_gone_or_cut_are_made_again(
    tmp_path: Path, text: Path, name: str, damage: Callable[[Path], None]
) -> None:
    task = SplitSentences(work_folder=tmp_path, source="files", paths=str(text))
    assert build(task)
    before = shard_path(task.folder, 0).read_bytes()
    damage(task.folder / name)
    if (name, damage) == ("00000.json", cut):  # one line feed less: the same content
        assert task.complete()
        return

    assert not task.complete()
    assert build(task)

    assert task.complete()
    assert shard_path(task.folder, 0).read_bytes() == before


@pytest.mark.slow
def test_parses_of_a_sentence_shard_that_was_made_anew_in_other_bytes_are_made_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stage = chain_stage(tmp_path, num_shards=2)
    assert build(stage)
    sentences = stage.sentences.folder
    rows = pq.read_table(shard_path(sentences, 1))
    pq.write_table(rows, shard_path(sentences, 1), compression="none")
    facts = {
        "sha256": sha256_of_file(shard_path(sentences, 1)),
        "bytes": shard_path(sentences, 1).stat().st_size,
    }
    edit(sentences / "00001.json", lambda value: value.update(facts))
    edit(sentences / "manifest.json", lambda value: value["shards"][1].update(facts))
    kept = shard_path(stage.folder, 0).stat()

    assert not stage.complete()
    assert build(stage)

    assert stage.complete()
    parsed = [shard.extra["sentences_sha256"] for shard in stage.manifest().shards]
    assert parsed == [shard.sha256 for shard in read_dataset_manifest(sentences).shards]
    assert shard_path(stage.folder, 0).stat().st_mtime_ns == kept.st_mtime_ns
    assert "00001.parquet: its sentences were made anew; it is made again" in caplog.text
