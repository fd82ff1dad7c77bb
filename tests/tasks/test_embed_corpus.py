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
from treeviews.pipeline.base.bundled import shipped_parsers
from treeviews.pipeline.inspect.check import faults_of
from treeviews.pipeline.inspect.dataset import select
from treeviews.pipeline.shards.manifests import read_dataset_manifest, shard_path
from treeviews.pipeline.text import plan
from treeviews.tasks.embedding import EmbedCorpus

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


def sentences_of(task: EmbedCorpus) -> list[str]:
    (table,) = treeviews.read_shards(task.sentences.folder, ["tokens"])
    return [" ".join(words) for words in table["tokens"].to_pylist()]


@pytest.mark.slow
def test_a_corpus_is_embedded_beside_its_sentences(text: Path) -> None:
    task = stage(text)
    assert build(task)

    assert task.folder.parent == task.sentences.folder.parent
    assert task.folder.name.startswith("embeddings-english-")
    corpus = treeviews.open_embeddings(task.folder)
    np.testing.assert_array_equal(corpus.vectors, treeviews.encode(sentences_of(task)))
    assert list(faults_of(select(task.folder.parent))) == []


def test_an_encoder_of_trees_requires_their_parses_and_no_others(text: Path) -> None:
    words, trees = stage(text), stage(text, encoder="english-trees")

    assert set(words.requires()) == {"sentences"}
    assert set(trees.requires()) == {"sentences", *trees.parses}
    folders = {name: parse.parser_folder.resolve() for name, parse in trees.parses.items()}
    assert folders == {
        "dependencies": shipped_parsers("dependencies")["dependency-large"],
        "constituents": shipped_parsers("constituents")["constituency-large"],
    }


@pytest.mark.slow
@pytest.mark.parametrize("encoder", ["english-trees", FUNCTION])
def test_a_part_of_which_all_text_is_refused_is_embedded_as_no_row(
    encoder: str, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "_target", lambda number: len(TEXT))
    (text.parent / "a.txt").write_text("\x07\n\n" * len(TEXT), encoding="utf-8")
    paths = f"{text.parent / 'a.txt'},{text}"

    task = stage(text, paths=paths, encoder=encoder, encoder_version="1")
    assert build(task)

    numbers = [shard.rows for shard in read_dataset_manifest(task.folder, "embeddings").shards]
    assert numbers[0] == 0 and sum(numbers) == len(treeviews.open_embeddings(task.folder)) == 4
    assert list(faults_of(select(task.folder.parent))) == []


@pytest.mark.parametrize(
    ("changes", "is_other"),
    [
        ({"dtype": "float16"}, True),
        ({"encoder": "bag_of_words"}, True),
        ({"encoder": FUNCTION, "encoder_version": "2"}, True),
        ({"limit": 3}, True),
        ({"device": "cuda"}, False),
        ({"engine": "ray"}, False),
    ],
)
def test_the_path_changes_with_what_determines_the_rows(
    text: Path, changes: dict[str, Any], is_other: bool
) -> None:
    assert (stage(text).folder != stage(text, **changes).folder) == is_other


@pytest.mark.slow
def test_a_second_run_does_nothing(text: Path) -> None:
    assert build(stage(text))
    before = shard_path(stage(text).folder, 0).stat()

    task = stage(text)
    assert task.complete() and build(task)
    assert shard_path(task.folder, 0).stat().st_mtime_ns == before.st_mtime_ns


@on_ray
def test_ray_embeds_what_luigis_workers_embed(text: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    here = stage(text, encoder="english-trees")
    assert build(here)
    shared = str(tmp_path / "shared")
    given = {"work_folder": tmp_path / "other", "storage": shared, "encoder": "english-trees"}

    there = stage(text, engine="ray", ray_address="local", **given)
    assert build(there)

    rows = shard_path(here.folder, 0).read_bytes()
    in_storage = tmp_path / "shared" / there.folder.relative_to(tmp_path / "other")
    for folder in (there.folder, in_storage):
        assert shard_path(folder, 0).read_bytes() == rows
    third = stage(text, **given | {"work_folder": tmp_path / "third"})
    assert build(third)  # takes all of it from the storage
    assert not (third.folder / "jobs").exists() or not list((third.folder / "jobs").glob("*.json"))
    assert shard_path(third.folder, 0).read_bytes() == rows
