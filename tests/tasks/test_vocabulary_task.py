"""The stage that counts words: resumed shard by shard, other choices take the counts there are."""

from __future__ import annotations

import fcntl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pipeline.base.atomic_files import RUN_LOCK
from pipeline.vectors.word_list import read_word_list
from pipeline.vocabulary import count_shard
from pipeline.vocabulary.count_shard import counts_path
from tasks import CountShard, CountVocabulary, shard_jobs
from tests.support.luigi_builds import build
from tests.support.parsed_corpora import stories, write_corpus


@pytest.fixture
def run(tmp_path: Path) -> dict[str, object]:
    text = tmp_path / "text.txt"
    text.write_text("The rain stopped. The sun came. Rain fell on the town.\n", encoding="utf-8")
    return {"work_folder": tmp_path / "work", "source": "files", "paths": str(text)}


def words_of(task: CountVocabulary) -> list[tuple[str, int]]:
    listed = read_word_list(task.folder / "words.parquet", remedy="")
    assert listed.counts is not None
    return list(zip(listed.words.to_pylist(), listed.counts.tolist(), strict=True))


def test_the_words_of_a_text_are_counted(run: dict[str, object]) -> None:
    task = CountVocabulary(**run)

    assert build(task)

    assert task.complete()
    assert words_of(task)[:2] == [(".", 3), ("The", 2)]
    assert ("the", 1) in words_of(task)


@pytest.mark.slow
def test_another_choice_of_words_takes_the_counts_that_are_there(run: dict[str, object]) -> None:
    first, second = CountVocabulary(**run), CountVocabulary(**run, max_words=2)
    assert build(first)
    before = counts_path(first.counts_folder, 0).stat().st_ino

    assert build(second)

    assert first.folder != second.folder
    assert second.counts_folder == first.counts_folder
    assert counts_path(second.counts_folder, 0).stat().st_ino == before
    assert words_of(second) == [(".", 3), ("The", 2)]


def test_case_is_another_count(run: dict[str, object]) -> None:
    task = CountVocabulary(**run, lower_case=True)
    assert task.counts_folder != CountVocabulary(**run).counts_folder
    assert build(task)
    assert words_of(task)[:3] == [(".", 3), ("the", 3), ("rain", 2)]


@pytest.mark.parametrize(("name", "value"), [("max_words", 7), ("min_count", 2), ("limit", 2)])
def test_what_changes_the_words_changes_the_folder(
    name: str, value: int, run: dict[str, object]
) -> None:
    assert CountVocabulary(**run).folder != CountVocabulary(**run, **{name: value}).folder


@pytest.mark.slow
def test_counts_that_are_gone_are_made_again(run: dict[str, object]) -> None:
    task = CountVocabulary(**run)
    assert build(task)
    before = (task.folder / "words.parquet").read_bytes()
    counts_path(task.counts_folder, 0).unlink()
    (task.folder / "vocabulary.json").unlink()

    again = CountVocabulary(**run)
    assert not again.complete()
    assert build(again)
    assert (task.folder / "words.parquet").read_bytes() == before


@pytest.mark.slow
def test_vocabularies_alone_stand_beside_each_other(run: dict[str, object]) -> None:
    tasks = [CountVocabulary(**run), CountVocabulary(**run, lower_case=True, max_words=3)]
    for task in tasks:
        assert build(task)
    found = (tasks[0].work_folder / "vocabularies").glob("files-*")
    assert sorted(found) == sorted(task.folder for task in tasks)


@pytest.mark.slow
def test_what_a_kill_left_among_the_counts_is_swept(run: dict[str, object]) -> None:
    task = CountVocabulary(**run)
    task.counts_folder.mkdir(parents=True)
    left = task.counts_folder / "00000.json.machine-1-ab.unfinished"
    left.touch()
    assert build(task)
    assert not left.exists()


def test_nobody_holds_the_counts_alone_while_a_shard_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []

    def count(_: object, module: str, job: Mapping[str, Any], *__: object, **___: int) -> None:
        with (tmp_path / "counts" / RUN_LOCK).open() as stream:
            with pytest.raises(BlockingIOError):
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
        count_shard.execute(count_shard.CountJob.from_dict(job), lambda *_: None)
        found.append(module)

    monkeypatch.setattr(shard_jobs, "run_job", count)
    sentences = write_corpus(tmp_path / "corpus", stories(2)).sentences
    task = CountShard(
        sentences=sentences, destination=tmp_path / "counts", number=0, lower_case=False
    )
    task.run()
    assert found == ["pipeline.vocabulary.count_shard"] and task.complete()
