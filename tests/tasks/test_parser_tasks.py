"""A user's own treebank becomes a parser that the other tasks take by its path."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.constituency_trees import toy_treebank, write_bracketed
from tests.support.dependency_examples import treebank, write_conllu
from tests.support.luigi_builds import build
from tests.support.tiny_transformers import tiny_bert
from treeviews.pipeline.shards.manifests import read_dataset_manifest
from treeviews.pipeline.shards.shards import read_shard
from treeviews.tasks import (
    ParseConstituents,
    ParseDependencies,
    TrainConstituencyParser,
    TrainDependencyParser,
)
from treeviews.tasks.artefact import Artefact

pytestmark = pytest.mark.slow


def text(folder: Path) -> dict[str, object]:
    path = folder / "text.txt"
    path.write_text("The dog chased a cat. She reads old books.\n", encoding="utf-8")
    return {"work_folder": folder / "work", "source": "files", "paths": str(path)}


def trained_parser(task: Artefact) -> Path:
    assert build(task)
    written = (task.folder / "parser.json").stat().st_mtime_ns
    assert build(task)  # a second run does nothing
    assert (task.folder / "parser.json").stat().st_mtime_ns == written
    return task.folder


def test_a_dependency_parser_is_trained_and_then_parses(tmp_path: Path) -> None:
    path = str(write_conllu(treebank(), tmp_path / "toy.conllu"))
    options = {"num-epochs": 2, "lstm-hidden": 8, "lstm-layers": 1}
    task = TrainDependencyParser(
        work_folder=tmp_path / "work", name="toy", train=path, dev=path, options=options
    )

    parses = ParseDependencies(dependency_parser=trained_parser(task), **text(tmp_path))
    assert build(parses)

    assert read_dataset_manifest(parses.folder, "dependencies").drops == {}
    heads = read_shard(parses.folder, "dependencies", 0)["heads"].to_pylist()
    assert [len(row) for row in heads] == [6, 5]
    assert all(row.count(0) == 1 for row in heads)


def test_a_dependency_parser_over_a_transformer_is_trained_and_then_parses(tmp_path: Path) -> None:
    path = str(write_conllu(treebank(), tmp_path / "toy.conllu"))
    files = tiny_bert(tmp_path / "bert")
    task = TrainDependencyParser(
        work_folder=tmp_path / "work",
        train=path,
        dev=path,
        options={"num-epochs": 1},
        transformer=str(files),
    )
    parser = trained_parser(task)
    shutil.rmtree(files)  # the parser's folder holds what it needs

    parses = ParseDependencies(dependency_parser=parser, **text(tmp_path))
    assert build(parses)

    assert read_dataset_manifest(parses.folder, "dependencies").drops == {}


def test_a_constituency_parser_is_trained_and_then_parses(tmp_path: Path) -> None:
    path = str(write_bracketed(tmp_path / "toy.mrg", toy_treebank(12)))
    options = {"num-epochs": 1, "d-model": 32, "num-layers": 1, "num-heads": 2, "d-kv": 16}
    task = TrainConstituencyParser(
        work_folder=tmp_path / "work", name="toy", train=path, dev=path, options=options
    )

    parses = ParseConstituents(constituency_parser=trained_parser(task), **text(tmp_path))
    assert build(parses)

    left = read_shard(parses.folder, "constituents", 0)["binary_left"].to_pylist()
    assert [len(row) for row in left] == [5, 4]
