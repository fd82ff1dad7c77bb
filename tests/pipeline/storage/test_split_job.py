"""Splitting as a machine of a cluster does it: from a plan that is sent, into a storage."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from treeviews.pipeline.shards.manifests import read_shard_manifest, shard_path
from treeviews.pipeline.storage import stored_job
from treeviews.pipeline.storage.location import Storage
from treeviews.pipeline.storage.shared_shards import fetch_sentences
from treeviews.pipeline.storage.stage import StoredStage
from treeviews.pipeline.storage.stored_job import StoredJob, make_stored_shards
from treeviews.pipeline.text import plan
from treeviews.pipeline.text.cleaning_steps import CleaningConfig
from treeviews.pipeline.text.find_duplicates import DuplicatesJob, execute
from treeviews.pipeline.text.split_corpus import PLAN_NAME, CorpusSplit
from treeviews.pipeline.text.split_parts import DUPLICATES_FOLDER, describe_splitter
from treeviews.pipeline.text.text_sources import TextFiles
from treeviews.pipeline.text.tokenization import SentenceConfig


@pytest.fixture
def corpus(tmp_path: Path) -> CorpusSplit:
    """A corpus of one part, whose plan is written."""
    (tmp_path / "story.txt").write_text("The rain stopped. They ran out.\n", encoding="utf-8")
    source = TextFiles([str(tmp_path / "story.txt")])
    corpus = CorpusSplit(source, SentenceConfig(), tmp_path / "here")
    corpus.begin()
    return corpus


def describe() -> dict[str, Any]:
    return describe_splitter(SentenceConfig())


@pytest.fixture
def job(tmp_path: Path) -> StoredJob:
    return StoredJob(
        storage=str(tmp_path / "shared"),
        output="sentences",
        number=0,
        module="treeviews.pipeline.text.split_parts",
        values={"plan": "/work/plan.json", "output": "/work/sentences"},
        folders={"/work/plan.json": f"files/{PLAN_NAME}", "/work/sentences": "output"},
        describe=describe,
        described=describe(),
    )


def sent(corpus: CorpusSplit) -> dict[str, bytes]:
    return {PLAN_NAME: corpus.plan_path.read_bytes()}


def test_a_machine_makes_the_shard_that_this_one_makes(
    corpus: CorpusSplit, job: StoredJob, tmp_path: Path
) -> None:
    assert make_stored_shards(job, sent(corpus)) == 0
    assert StoredStage(Storage(job.storage).inside("sentences")).numbers() == {0}
    fetch_sentences(job.storage, "sentences", tmp_path / "there", job.numbers)

    corpus.split_all()

    found = read_shard_manifest(tmp_path / "there", 0)
    assert found is not None and found.rows == 2
    expected = shard_path(tmp_path / "here", 0).read_bytes()
    assert shard_path(tmp_path / "there", 0).read_bytes() == expected


def test_a_machine_with_another_splitter_refuses_the_job(
    corpus: CorpusSplit, job: StoredJob
) -> None:
    other = replace(job, described={**job.described, "spacy": "0.1"})

    with pytest.raises(ValueError, match=r"has spacy .* instead of 0\.1: install the same"):
        make_stored_shards(other, sent(corpus))


def test_a_text_that_is_not_on_the_machine_is_named(
    corpus: CorpusSplit, job: StoredJob, tmp_path: Path
) -> None:
    (tmp_path / "story.txt").unlink()

    with pytest.raises(RuntimeError, match=r"story\.txt"):
        make_stored_shards(job, sent(corpus))


LINES = [f"Boat number {number} came back to the old harbour before dark." for number in range(3)]
EXACT = CleaningConfig(duplicates="exact")


@pytest.fixture
def with_duplicates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CorpusSplit:
    """A corpus of three parts, of which the last two have a sentence of the first."""
    monkeypatch.setattr(plan, "_target", lambda number: 1)
    (tmp_path / "text").mkdir()
    for number, line in enumerate(LINES):
        (tmp_path / "text" / f"{number}.txt").write_text(f"{line}\n\n{LINES[0]}\n")
    source = TextFiles([tmp_path / "text"])
    corpus = CorpusSplit(source, SentenceConfig(), tmp_path / "here", EXACT)
    corpus.begin()
    folder = tmp_path / "here" / DUPLICATES_FOLDER
    for parts in ({"number": 0, "count": 3}, {}):
        job = DuplicatesJob(plan=corpus.plan_path, output=folder, config=EXACT, **parts)
        execute(job, lambda *_: None)
    return corpus


@pytest.mark.slow
def test_a_machine_writes_the_files_of_its_own_parts_alone(
    with_duplicates: CorpusSplit,
    job: StoredJob,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "here" / DUPLICATES_FOLDER
    files = sent(with_duplicates) | {
        f"{DUPLICATES_FOLDER}/{path.name}": path.read_bytes() for path in folder.glob("*.*")
    }
    own = ("manifest.json", "00001.duplicates.npy")
    run, written = stored_job.run_job_process, []

    def noted(module: str, values: dict[str, Any], *arguments: Any, **keywords: Any) -> None:
        written.extend(path.name for path in Path(values["plan"]).parent.rglob("*.*"))
        run(module, values, *arguments, **keywords)

    monkeypatch.setattr(stored_job, "run_job_process", noted)
    names = (PLAN_NAME, *(f"{DUPLICATES_FOLDER}/{name}" for name in own))
    make_stored_shards(replace(job, number=1, files=names), files)
    assert sorted(written) == sorted([*own, PLAN_NAME])
    fetch_sentences(job.storage, "sentences", tmp_path / "there", range(1, 2))
    found = read_shard_manifest(tmp_path / "there", 1)
    assert found is not None
    assert (found.rows, found.drops) == (1, {"exact_duplicate": 1})
