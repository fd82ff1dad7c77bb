"""The task that embeds a corpus: its folder, what it requires, and what changes its path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treeviews
from tests.support import embedding_functions
from tests.support.luigi_builds import build
from tests.support.ray_tests import on_ray
from treeviews.pipeline.inspect.aligned_rows import select
from treeviews.pipeline.inspect.check import faults_of
from treeviews.pipeline.shards.manifests import shard_path
from treeviews.tasks.embed_corpus import EmbedCorpus

TEXT = "The rain stopped. The children ran out.\n\nA dog barked at them. They laughed.\n"
FUNCTION = f"{embedding_functions.__name__}:letters"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "story.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


def stage(text: Path, **parameters: Any) -> EmbedCorpus:
    given = {"work_folder": text.parent / "work", "source": "files", "paths": str(text)}
    return EmbedCorpus(**given | parameters)


@pytest.mark.slow
def test_a_corpus_is_embedded_beside_its_sentences_once(text: Path) -> None:
    task = stage(text)
    assert build(task)

    assert task.folder.parent == task.sentences.folder.parent
    assert task.folder.name.startswith("embeddings-english-")
    (table,) = treeviews.read_shards(task.sentences.folder, ["tokens"])
    sentences = [" ".join(words) for words in table["tokens"].to_pylist()]
    corpus = treeviews.open_embeddings(task.folder)
    np.testing.assert_array_equal(corpus.vectors, treeviews.encode(sentences))
    assert list(faults_of(select(task.folder.parent))) == []
    before = shard_path(task.folder, 0).stat().st_mtime_ns
    assert task.complete() and build(stage(text))
    assert shard_path(task.folder, 0).stat().st_mtime_ns == before


@on_ray
def test_ray_embeds_what_luigis_workers_do_into_a_storage_that_others_take_from(
    text: Path, tmp_path: Path
) -> None:
    pytest.importorskip("ray")
    here = stage(text)
    assert build(here)
    given = {"work_folder": tmp_path / "other", "storage": str(tmp_path / "shared")}

    there = stage(text, engine="ray", ray_address="local", **given)
    assert build(there)

    third = stage(text, **given | {"work_folder": tmp_path / "third"})
    assert build(third)  # takes the embeddings from the storage
    assert not list((third.folder / "jobs").glob("*.json"))
    for one, other, last in (
        (here.folder, there.folder, third.folder),
        (here.sentences.folder, there.sentences.folder, third.sentences.folder),
    ):
        stored = tmp_path / "shared" / other.relative_to(tmp_path / "other")
        rows = shard_path(one, 0).read_bytes()
        assert [shard_path(folder, 0).read_bytes() for folder in (other, stored, last)] == 3 * [
            rows
        ]
