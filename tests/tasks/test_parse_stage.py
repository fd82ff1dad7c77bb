"""The tasks that parse: what makes a shard complete, and what their paths depend on."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.parsing import parse_shard as parsing
from pipeline.shards.manifests import shard_path
from tasks.parsing import ParseConstituents, ParseDependencies, ParseShard, ParseStage
from tests.support.shard_files import write_rows


@pytest.mark.parametrize("lost", ["00000.parquet", "00000.json"])
def test_a_shard_is_complete_with_its_rows_and_its_manifest(tmp_path: Path, lost: str) -> None:
    task = ParseShard(
        stage="dependencies",
        sentences=tmp_path / "sentences",
        destination=tmp_path / "parsed",
        number=0,
        parser=tmp_path / "parser",
    )
    assert not task.complete()

    write_rows(tmp_path / "parsed", "dependencies", 0, [{"heads": [0], "deprels": ["root"]}])
    assert shard_path(tmp_path / "parsed", 0).exists()
    assert task.complete()

    (tmp_path / "parsed" / lost).unlink()
    assert not task.complete()


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
