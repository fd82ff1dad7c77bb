"""Vectors of the corpus' own words, counts of them, trainings, and words that are expanded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import luigi
import numpy as np
import pytest

from tests.support.luigi_builds import build
from tests.support.parsed_corpora import stories, write_corpus, write_vectors
from tests.support.tiny_senteval import write_tiny_senteval
from treeviews import models
from treeviews.models.config.held_out import HoldOut
from treeviews.models.train_word_vectors import TrainingSentences, WordVectorJob, execute
from treeviews.models.words.word_vectors import load_word_vectors
from treeviews.pipeline.vectors.word_lists import read_word_list
from treeviews.tasks import CountVocabulary, EvaluateAll, EvaluateTask

HALF = HoldOut(fraction=0.5)
SMALL = {"size": 6, "epochs": 2, "min_count": 1}


def test_the_tokens_are_those_of_the_sentences_that_are_not_held_out(tmp_path: Path) -> None:
    documents = stories(6)
    folders = write_corpus(tmp_path, documents, rows_per_shard=20)

    kept = [
        tokens
        for name, sentences in documents.items()
        for tokens in sentences
        if not HALF.takes(name)
    ]
    assert 0 < len(kept) < 48
    assert list(TrainingSentences(folders.sentences, HALF)) == kept


def job(tmp_path: Path, **changes: Any) -> dict[str, Any]:
    folders = write_corpus(tmp_path / "corpus", stories(6))
    out = tmp_path / "vectors"
    out.mkdir(exist_ok=True)
    whole = {"sentences": str(folders.sentences), "hold_out": HALF.to_dict(), "out": str(out)}
    return whole | {"config": SMALL} | changes


def test_a_job_leaves_vectors_that_load_and_the_facts_of_their_training(tmp_path: Path) -> None:
    pytest.importorskip("gensim")
    reports: list[tuple[float, str]] = []

    execute(WordVectorJob.from_dict(job(tmp_path)), lambda *report: reports.append(report))

    vectors = load_word_vectors(tmp_path / "vectors")
    assert vectors.size == 6 and {"the", "horse"} <= set(vectors.words)
    facts = json.loads((tmp_path / "vectors" / "training.json").read_text(encoding="utf-8"))
    assert facts["hold_out"] == HALF.to_dict()
    assert facts["words"] == len(vectors.words) - 1
    assert reports[-1] == (1.0, f"2 of 2 passes over {facts['tokens']} tokens")
    files = {path.name for path in (tmp_path / "vectors").iterdir()}
    assert files == {"vectors.safetensors", "words.parquet", "training.json"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"config": {"size": 0}}, "size must be at least 1, got 0"),
        (
            {"hold_out": HoldOut(fraction=1.0).to_dict()},
            "all of them are held out; change --held-out-fr",
        ),
        ({"config": {"min_count": 999}}, "no word occurs 999 times"),
    ],
)
def test_a_job_that_cannot_be_is_refused(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    pytest.importorskip("gensim")
    with pytest.raises(ValueError, match=message):
        execute(WordVectorJob.from_dict(job(tmp_path, **changes)), lambda *_: None)
    assert list((tmp_path / "vectors").iterdir()) == []


@pytest.fixture
def run(tmp_path: Path) -> dict[str, Any]:
    luigi.task_register.Register.clear_instance_cache()
    texts = tmp_path / "texts"
    texts.mkdir()
    for name, sentences in stories(8).items():
        text = "".join(f"{' '.join(tokens)} .\n" for tokens in sentences)
        (texts / f"{name}.txt").write_text(text, encoding="utf-8")
    given = {"work_folder": tmp_path / "work", "source": "files", "paths": str(texts)}
    return given | {"paragraphs": "line"}


@pytest.mark.slow
def test_trained_words_are_expanded_and_joined_with_given_ones(
    run: dict[str, Any], tmp_path: Path
) -> None:
    own = run | {
        "views": "SEQ,LIN",
        "changes": {"hidden_size": 4, "epochs": 1, "batch_size": 8, "trained_words": 18},
        "vectors": write_vectors(tmp_path / "vectors", size=6),
        "expansion_changes": {"ridge": 0.1},
    }
    data = str(write_tiny_senteval(tmp_path / "data"))
    names = ("trained", "expanded", "ensemble")
    task = EvaluateAll(**own, senteval_data=data, tasks="MR", folds=3, encoder=",".join(names))

    assert build(task)

    given, expanded, both = (
        EvaluateTask(**own, task="MR", encoder=name).evaluated for name in names
    )
    sentences = ["the cat sees the dog twice"]
    parts = [models.load(one.spec).encode(sentences) for one in (given, expanded)]
    np.testing.assert_array_equal(models.load(both.spec).encode(sentences), np.hstack(parts))
    assert len(load_word_vectors(Path(expanded.spec) / "words").words) == 22
    table = (task.folder / "evaluation.md").read_text(encoding="utf-8")
    assert all(one.name in table for one in (given, expanded, both))


@pytest.mark.slow
def test_words_are_counted_shard_by_shard_once_for_all_choices_of_them(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("The rain stopped. The sun came. Rain fell on the town.\n\n" * 20_000, "utf-8")
    run = {"work_folder": tmp_path / "work", "source": "files", "paths": str(text)}
    task, few = CountVocabulary(**run), CountVocabulary(**run, max_words=2)
    assert build(task)
    counts = sorted(task.counts_folder.glob("*.parquet"))
    before = [path.stat().st_ino for path in counts]
    assert len(counts) > 1
    assert words_of(task)[:2] == [(".", 60_000), ("The", 40_000)]

    assert build(few)
    assert words_of(few) == words_of(task)[:2]
    assert [path.stat().st_ino for path in counts] == before

    words = (task.folder / "words.parquet").read_bytes()
    counts[0].unlink()
    (task.folder / "vocabulary.json").unlink()
    assert build(task)
    assert (task.folder / "words.parquet").read_bytes() == words
    assert [path.stat().st_ino for path in counts[1:]] == before[1:]


def words_of(task: CountVocabulary) -> list[tuple[str, int]]:
    listed = read_word_list(task.folder / "words.parquet", remedy="")
    assert listed.counts is not None
    return list(zip(listed.words.to_pylist(), listed.counts.tolist(), strict=True))
