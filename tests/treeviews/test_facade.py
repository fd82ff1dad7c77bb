"""The one import: every function of it, and what it costs to import it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import treeviews
from tests.support.parsed_corpora import stories, write_corpus
from tests.support.repository import REPOSITORY
from tests.support.tiny_senteval import write_tiny_senteval
from treeviews.models.encoding import load_encoder
from treeviews.models.evaluation.task_result import AbsentResult

SENTENCES = ["A cat sleeps on the mat.", "A dog barks.", "The cat sat down.", "Rain falls."]


def lengths(sentences: list[str]) -> list[list[float]]:
    return [[len(sentence), sentence.count(" "), 1.0] for sentence in sentences]


class Lengths:
    def encode(self, sentences: list[str]) -> Any:
        return torch.tensor(lengths(sentences))


def test_importing_it_is_light() -> None:
    code = (
        "import sys, treeviews\n"
        "heavy = ('torch', 'numpy', 'pyarrow', 'scipy', 'spacy', 'nltk', 'luigi')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert found.stdout == "[]\n"


def test_sentences_are_encoded() -> None:
    found = treeviews.encode(SENTENCES)
    assert (found.shape, found.dtype) == ((4, 300), np.float32)
    np.testing.assert_array_equal(treeviews.encode(SENTENCES[1]), found[1])
    found = treeviews.encode(SENTENCES, normalize=True)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)


def test_a_second_call_loads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []
    real = load_encoder.load_encoder

    def counted(called: str, settings: Any) -> Any:
        loaded.append(called)
        return real(called, settings)

    monkeypatch.setattr(load_encoder, "load_encoder", counted)
    load_encoder._kept.cache_clear()
    for _ in range(2):
        treeviews.encode(SENTENCES)
    treeviews.encode(["", "a"], on_refusal="zero")
    treeviews.encode(SENTENCES, "bag_of_words")
    treeviews.encode(SENTENCES, "bag_of_words")
    assert loaded == ["english", "english", "bag_of_words"]


@pytest.mark.parametrize("given", [lengths, Lengths()])
def test_an_encoder_of_ones_own_will_do(given: Any) -> None:
    np.testing.assert_array_equal(treeviews.encode(SENTENCES, given), lengths(SENTENCES))
    assert treeviews.similarity(SENTENCES, encoder=given).shape == (4, 4)


def test_what_is_no_encoder_is_named() -> None:
    with pytest.raises(ValueError, match="int is no encoder; give a name"):
        treeviews.encode(SENTENCES, 3)
    with pytest.raises(FileNotFoundError, match="did you mean english"):
        treeviews.load("englsh")
    with pytest.raises(FileNotFoundError, match="did you mean english-trees"):
        treeviews.encode(SENTENCES, "english_trees")


def test_sentences_and_vectors_are_compared() -> None:
    vectors = treeviews.encode(SENTENCES)
    np.testing.assert_array_equal(treeviews.similarity(SENTENCES), treeviews.similarity(vectors))
    assert treeviews.similarity("It rains.", SENTENCES).shape == (1, 4)
    pairs = treeviews.similarity_pairwise(SENTENCES, vectors)
    np.testing.assert_allclose(pairs, 1, atol=1e-5)


def test_sentences_and_vectors_are_searched() -> None:
    vectors = treeviews.encode(SENTENCES)
    hits = treeviews.search("Where does the cat sleep?", vectors, k=2)
    assert set(hits.rows.tolist()) == {0, 2}
    assert treeviews.search(SENTENCES[:2], SENTENCES, k=1).rows.tolist() == [[0], [1]]


def test_an_encoder_is_scored(tmp_path: Path) -> None:
    data = write_tiny_senteval(tmp_path / "data", without=["TREC"])
    told: list[str] = []
    threads = torch.get_num_threads()
    scores = treeviews.evaluate(
        lengths,
        data,
        tasks=["STS13", "TREC"],
        out=tmp_path / "out",
        on_progress=lambda _, status: told.append(status),
    )
    assert list(scores) == ["STS13"]
    interval = scores["STS13"]["spearman_mean"]
    assert interval.low <= interval.value <= interval.high
    assert isinstance(scores.results["TREC"], AbsentResult)
    with pytest.raises(KeyError, match="TREC"):
        scores["TREC"]
    assert "| STS13 |" in scores.table
    assert len(told) == 2
    assert (tmp_path / "out" / "STS13.json").is_file()
    assert torch.get_num_threads() == threads


def test_shards_of_a_corpus_are_read_side_by_side(tmp_path: Path) -> None:
    write_corpus(tmp_path / "corpus", stories(5), rows_per_shard=16, without_heads=[3])
    corpus = tmp_path / "corpus"
    tables = list(treeviews.read_shards(corpus, ["heads", "tokens"]))
    assert [table.column_names for table in tables] == [["heads", "tokens"]] * len(tables)
    sentences = list(treeviews.read_shards(corpus / "sentences"))
    assert sentences[0].column_names == ["document_id", "sentence_index", "tokens"]
    assert [table.num_rows for table in sentences] == [table.num_rows for table in tables]
    with pytest.raises(ValueError, match=r"no column 'Token', only document_id"):
        treeviews.read_shards(corpus, ["Token"])
    with pytest.raises(FileNotFoundError, match="no such file or folder"):
        treeviews.read_shards(tmp_path / "absent")
