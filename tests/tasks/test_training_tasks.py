"""Vectors of the corpus' own words, counts of them, trainings, and words that are expanded."""

from __future__ import annotations

import json
import sys
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
from treeviews.pipeline.vectors.word_counts import counts_path
from treeviews.pipeline.vectors.word_lists import read_word_list
from treeviews.tasks import CountVocabulary, EvaluateAll, EvaluateTask, TrainEncoders, WriteReport

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
            "all sentences are held out; lower --held-out-fr",
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


def test_without_gensim_the_remedies_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "gensim"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "gensim", None)

    with pytest.raises(ModuleNotFoundError, match=r"pip install gensim .*, or give word vectors"):
        execute(WordVectorJob.from_dict(job(tmp_path)), lambda *_: None)


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


def test_a_folder_of_the_name_that_asks_for_vectors_of_the_corpus_is_not_passed_over(
    run: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    own = run | {"views": "SEQ,LIN", "vectors": "corpus"}
    folder = tmp_path / "corpus"
    folder.mkdir()  # text, say
    assert TrainEncoders(**own).word_vectors.training is not None
    report = WriteReport(**own, vector_changes={"size": 7})
    assert report.resolved_config()["vectors"]["vectors"]["size"] == 7

    folder.rmdir()
    write_vectors(folder, size=6)
    luigi.task_register.Register.clear_instance_cache()
    with pytest.raises(ValueError, match=f"give its whole path, {folder}"):
        _ = TrainEncoders(**own).word_vectors
    assert TrainEncoders(**own | {"vectors": folder}).word_vectors.training is None


def test_the_job_of_a_training_holds_its_machine_settings(
    run: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs: list[dict[str, Any]] = []
    monkeypatch.setattr(
        "treeviews.tasks.training.run_job",
        lambda task, module, job, path, *, threads: jobs.append(job),
    )
    given = {"device": "cuda", "gemm": "onednn", "sentences_at_once": 64}
    given |= {"checkpoint_every_seconds": 7.5}
    counts = {"threads": 6, "processes": 2}
    TrainEncoders(**run, **given, **counts).run()

    assert jobs[0]["settings"].items() >= given.items()
    assert jobs[0]["launch"].items() >= counts.items()


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
def test_words_are_counted_once_for_all_choices_of_them(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("The rain stopped. The sun came. Rain fell on the town.\n", encoding="utf-8")
    run = {"work_folder": tmp_path / "work", "source": "files", "paths": str(text)}
    first, second = CountVocabulary(**run), CountVocabulary(**run, max_words=2)
    assert build(first)
    assert words_of(first)[:2] == [(".", 3), ("The", 2)] and ("the", 1) in words_of(first)
    counts = counts_path(first.counts_folder, 0)
    before = counts.stat().st_ino

    assert build(second)
    assert words_of(second) == [(".", 3), ("The", 2)]
    assert second.counts_folder == first.counts_folder
    assert counts.stat().st_ino == before

    words = (first.folder / "words.parquet").read_bytes()
    counts.unlink()
    (first.folder / "vocabulary.json").unlink()
    assert not first.complete()
    assert build(first)
    assert (first.folder / "words.parquet").read_bytes() == words


def words_of(task: CountVocabulary) -> list[tuple[str, int]]:
    listed = read_word_list(task.folder / "words.parquet", remedy="")
    assert listed.counts is not None
    return list(zip(listed.words.to_pylist(), listed.counts.tolist(), strict=True))
