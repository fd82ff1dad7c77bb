"""The stage that counts words: resumed shard by shard, other choices take the counts there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.luigi_builds import build
from treeviews.pipeline.vectors.word_counts import counts_path
from treeviews.pipeline.vectors.word_lists import read_word_list
from treeviews.tasks import CountVocabulary


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
