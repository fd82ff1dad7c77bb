"""Which parsed text a benchmark takes where none is named: the one that `make run` made."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks.corpus import DEFAULT_CORPORA, corpus_folders
from tests.support.parsed_corpora import stories, write_corpus
from treeviews.pipeline.base.bundled import BUNDLED_PARSERS
from treeviews.pipeline.parsers.parser_files import checksum_of_parser_folder
from treeviews.pipeline.shards.manifests import write_dataset_manifest
from treeviews.pipeline.shards.shards import read_shard, write_shard
from treeviews.pipeline.text.tokenization import SentenceConfig

SENTENCES = {
    "corpus": {"source": "python-docs", "python": "CPython 3.11.7"},
    "splitter": {"config": SentenceConfig().to_dict(), "spacy": "3.8"},
}
EXACT = {"precision": "exact"}
CHECKSUMS = {stage: checksum_of_parser_folder(path) for stage, path in BUNDLED_PARSERS.items()}
LIMITED = {**SENTENCES, "splitter": {"config": SentenceConfig(limit=2500).to_dict()}}


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def corpus(
    name: str,
    *,
    age: int,
    sentences: Mapping[str, Any] = SENTENCES,
    trees: Mapping[str, Any] = EXACT,
    checksum: str = "",
) -> Path:
    """Writes a corpus of these configurations; its parsers are the bundled ones by default."""
    folder = DEFAULT_CORPORA / name
    write_corpus(folder, stories(1))
    write_dataset_manifest(folder / "sentences", "sentences", config=sentences)
    for stage in BUNDLED_PARSERS:
        parsed_by(folder / stage, stage, trees, checksum or CHECKSUMS[stage])
    aged(folder, age)
    return folder


def parsed_by(folder: Path, stage: str, config: Mapping[str, Any], checksum: str) -> None:
    """Writes the trees again, as if a parser of this checksum had made them."""
    table = read_shard(folder, stage, 0)
    write_shard(folder, stage, 0, table, drops={}, extra={"parser_checksum": checksum})
    write_dataset_manifest(folder, stage, config=config)


def aged(folder: Path, seconds: int) -> None:
    os.utime(folder, (10**9 - seconds, 10**9 - seconds))


def test_a_later_run_with_other_parameters_does_not_take_its_place() -> None:
    made = corpus("python-docs-1", age=9)
    corpus("python-docs-2", age=1, sentences=LIMITED)
    corpus("python-docs-3", age=1, sentences={**SENTENCES, "cleaning": {"language": "en"}})
    corpus("python-docs-4", age=1, trees={"precision": "fast"})
    corpus("python-docs-5", age=1, checksum="another")
    assert corpus_folders(None).sentences == made / "sentences"


def test_where_none_is_of_the_default_run_the_remedy_is_named() -> None:
    limited = corpus("python-docs-1", age=1, sentences=LIMITED)
    with pytest.raises(FileNotFoundError, match=r"run `make run` first, or give .* --corpus"):
        corpus_folders(None)
    assert corpus_folders(limited).sentences == limited / "sentences"
