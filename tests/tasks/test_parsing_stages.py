"""The stages that parse: what they take for a parser, and what is parsed again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.support.constituency_trees import toy_treebank, write_bracketed
from tests.support.dependency_examples import treebank, write_conllu
from tests.support.edited_json import edit
from tests.support.library_parsers import supar_parser
from tests.support.luigi_builds import build
from tests.support.sentence_shards import chain_stage
from treeviews.pipeline.base.digest import sha256_of_file
from treeviews.pipeline.shards.manifests import read_dataset_manifest, shard_path
from treeviews.pipeline.shards.shards import read_shard
from treeviews.tasks import (
    ParseConstituents,
    ParseDependencies,
    SplitSentences,
    TrainConstituencyParser,
    TrainDependencyParser,
)
from treeviews.tasks.artefact import Artefact


@pytest.fixture
def text(tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "story.txt"
    path.write_text("The rain stopped. The children ran out.\n", encoding="utf-8")
    return {"work_folder": tmp_path / "work", "source": "files", "paths": str(path)}


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "damage"), [("00000.parquet", cut), ("00000.json", Path.unlink)])
def test_sentences_of_which_a_file_is_gone_or_cut_are_made_again(
    text: dict[str, Any], name: str, damage: Callable[[Path], None]
) -> None:
    task = SplitSentences(**text)
    assert build(task)
    before = shard_path(task.folder, 0).read_bytes()
    damage(task.folder / name)

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


@pytest.mark.slow
def test_a_run_parses_with_a_file_that_supar_saved(text: dict[str, Any], tmp_path: Path) -> None:
    supar_parser(tmp_path).save(str(tmp_path / "supar.pt"))
    sha256 = sha256_of_file(tmp_path / "supar.pt")
    own = {"dependency_parser": tmp_path / "supar.pt", "dependency_parser_sha256": sha256}
    stage = ParseDependencies(**text, **own)
    assert build(stage)
    rows = read_shard(stage.folder, "dependencies", 0).to_pylist()
    assert [len(row["heads"]) for row in rows] == [4, 5]
    description = json.loads((stage.parser_folder / "parser.json").read_text())
    assert description["kind"] == "supar-biaffine-dependency"


def trained_parser(task: Artefact) -> Path:
    assert build(task)
    written = (task.folder / "parser.json").stat().st_mtime_ns
    assert build(task)  # a second run does nothing
    assert (task.folder / "parser.json").stat().st_mtime_ns == written
    return task.folder


@pytest.mark.slow
def test_a_users_own_treebanks_become_parsers_that_parse(
    text: dict[str, Any], tmp_path: Path
) -> None:
    heads = str(write_conllu(treebank(), tmp_path / "toy.conllu"))
    spans = str(write_bracketed(tmp_path / "toy.mrg", toy_treebank(12)))
    given = {"work_folder": tmp_path / "work", "name": "toy"}
    small = {"num-epochs": 2, "lstm-hidden": 8, "lstm-layers": 1}
    by_heads = TrainDependencyParser(**given, train=heads, dev=heads, options=small)
    small = {"num-epochs": 1, "d-model": 32, "num-layers": 1, "num-heads": 2, "d-kv": 16}
    by_spans = TrainConstituencyParser(**given, train=spans, dev=spans, options=small)

    dependencies = ParseDependencies(dependency_parser=trained_parser(by_heads), **text)
    constituents = ParseConstituents(constituency_parser=trained_parser(by_spans), **text)
    assert build(dependencies) and build(constituents)

    found = read_shard(dependencies.folder, "dependencies", 0)["heads"].to_pylist()
    assert [(len(row), row.count(0)) for row in found] == [(4, 1), (5, 1)]
    left = read_shard(constituents.folder, "constituents", 0)["binary_left"].to_pylist()
    assert [len(row) for row in left] == [3, 4]
