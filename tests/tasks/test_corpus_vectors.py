"""Word vectors of the corpus itself: which sentences they see, what a run without gensim says."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import luigi
import pytest

from tests.support.parsed_corpora import stories, write_corpus, write_vectors
from treeviews.models.config.held_out import HoldOut
from treeviews.models.train_word_vectors import TrainingSentences, WordVectorJob, execute
from treeviews.models.words.word_vectors import load_word_vectors
from treeviews.tasks.report import WriteReport
from treeviews.tasks.training import TrainEncoders
from treeviews.tasks.word_vectors import OF_THE_CORPUS, TrainWordVectors

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


def test_the_same_text_gives_the_same_vectors(tmp_path: Path) -> None:
    pytest.importorskip("gensim")
    checksums = set()
    for name in ("first", "second"):
        execute(WordVectorJob.from_dict(job(tmp_path / name)), lambda *_: None)
        checksums.add(load_word_vectors(tmp_path / name / "vectors").checksum)
    assert len(checksums) == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"config": {"width": 6}}, r"unknown word vector settings \['width'\]"),
        ({"config": {"size": 0}}, "size must be at least 1, got 0"),
        (
            {"hold_out": HoldOut(fraction=1.0).to_dict()},
            "all sentences are held out; lower --held-out-fr",
        ),
        ({"config": {"min_count": 999}}, "no word occurs 999 times"),
        ({"text": "a"}, r"unknown word vector job fields \['text'\]"),
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
    text = tmp_path / "story.txt"
    text.write_text("The rain stopped. The children ran out.\n", encoding="utf-8")
    return {"work_folder": tmp_path / "work", "source": "files", "paths": str(text)}


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("vector_changes", {"size": 7}),
        ("held_out_fraction", 0.5),
        ("held_out_seed", 3),
        ("held_out_unit", "block"),
        ("held_out_block_sentences", 9),
        ("limit", 1),
    ],
)
def test_a_significant_parameter_changes_the_path(
    parameter: str, value: object, run: dict[str, Any]
) -> None:
    assert TrainWordVectors(**run).folder != TrainWordVectors(**run, **{parameter: value}).folder


@pytest.mark.slow
def test_the_task_trains_on_the_shards_of_the_sentence_stage(run: dict[str, Any]) -> None:
    pytest.importorskip("gensim")
    task = TrainWordVectors(**run, vector_changes=SMALL, held_out_fraction=0.0)

    assert luigi.build([task], local_scheduler=True, workers=1, log_level="ERROR")

    assert set(load_word_vectors(task.folder).words) >= {"The", "rain", "stopped", "."}
    assert task.complete()


def stopped(*_: object, **__: object) -> None:
    raise RuntimeError("killed")


def test_a_folder_of_the_name_that_asks_for_them_is_not_passed_over(
    run: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / OF_THE_CORPUS
    folder.mkdir()  # text, say
    assert training(run).word_vectors.training is not None

    folder.rmdir()
    write_vectors(folder, size=6)
    with pytest.raises(ValueError, match=f"give its whole path, {folder}"):
        luigi.task_register.Register.clear_instance_cache()
        _ = training(run).word_vectors
    assert TrainEncoders(**run, vectors=folder).word_vectors.training is None


def training(run: dict[str, Any], **changes: Any) -> TrainEncoders:
    return TrainEncoders(**run, views="SEQ,LIN", vectors=OF_THE_CORPUS, **changes)


def test_a_training_on_vectors_of_the_corpus_waits_for_them(run: dict[str, Any]) -> None:
    task = training(run)
    vectors = task.requires()["vectors"]

    assert set(task.requires()) == {"sentences", "vectors"}
    assert set(TrainEncoders(**run, views="SEQ,LIN").requires()) == {"sentences"}
    assert isinstance(vectors, TrainWordVectors)
    assert task.word_vectors.path == vectors.folder
    assert task.content()["vectors"] == vectors.digest


def test_the_report_says_how_vectors_of_the_corpus_were_trained(run: dict[str, Any]) -> None:
    report = WriteReport(**run, vectors=OF_THE_CORPUS, vector_changes={"size": 7})
    assert report.resolved_config()["vectors"]["vectors"]["size"] == 7
