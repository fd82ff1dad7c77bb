"""Embeddings are computed once for an encoder, a list of sentences and a pooling."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from models.config.views import Pooling
from models.encoding.encoder_interface import FloatArray
from models.encoding.named_encoder import words_encoder
from models.encoding.own_encoder import CallableEncoder
from models.encoding.reading_encoder import EncoderSettings
from models.evaluation.embedding_cache import EmbeddingCache
from pipeline.base.digest import sentences_digest
from pipeline.base.refusal import RefusedSentence
from tests.support.parsed_corpora import write_vectors

SENTENCES = ["a b", "c", "a"]


class Counting:
    """An encoder with views that knows how often it was asked for what."""

    def __init__(self, digest: str = "abc") -> None:
        self.digest = digest
        self.calls: list[tuple[str, ...]] = []

    def encode(self, sentences: Sequence[str]) -> FloatArray:
        raise AssertionError("views are there to be asked for")

    def encode_views(
        self, sentences: Sequence[str], pooling: Sequence[Pooling] = ("last",)
    ) -> dict[str, FloatArray]:
        self.calls.append(tuple(pooling))
        lengths = np.array([[len(s), len(p)] for p in pooling for s in sentences], np.float32)
        parts = lengths.reshape(len(pooling), len(sentences), 2)
        views = ("0-DEP", "1-CONST")
        return {f"{v}.{p}": parts[i] for v in views for i, p in enumerate(pooling)}


class Refusing(Counting):
    """One that cannot take "c"."""

    def __init__(self, *, fails_on_refusal: bool = False) -> None:
        super().__init__()
        self.fails_on_refusal = fails_on_refusal
        self.refused: list[RefusedSentence] = []

    def encode_views(
        self, sentences: Sequence[str], pooling: Sequence[Pooling] = ("last",)
    ) -> dict[str, FloatArray]:
        at = [i for i, sentence in enumerate(sentences) if sentence == "c"]
        if at and self.fails_on_refusal:
            raise ValueError(f"sentence {at[0]} (from 0): a c")
        self.refused = [RefusedSentence(i, "parser_error", "a c") for i in at]
        return super().encode_views(sentences, pooling)


class Plain:
    def __init__(self) -> None:
        self.calls = 0

    def encode(self, sentences: Sequence[str]) -> FloatArray:
        self.calls += 1
        return np.ones((len(sentences), 3), dtype=np.float32)


def test_what_is_stored_is_not_computed_again(tmp_path: Path) -> None:
    first = EmbeddingCache(tmp_path).embeddings(Counting(), SENTENCES)
    encoder = Counting()

    again = EmbeddingCache(tmp_path).embeddings(encoder, SENTENCES)

    assert encoder.calls == [] and again.from_cache and not first.from_cache
    assert list(again.views) == ["0-DEP.last", "1-CONST.last"]
    for key, matrix in first.views.items():
        np.testing.assert_array_equal(again.views[key], matrix)
        assert again.views[key].dtype == np.float32


def test_refused_sentences_are_kept_with_their_reasons(tmp_path: Path) -> None:
    for encoder in (Refusing(), fails := Refusing()):
        found = EmbeddingCache(tmp_path).embeddings(encoder, SENTENCES)
        assert (
            found.refused == (RefusedSentence(1, "parser_error", "a c"),) and found.num_refused == 1
        )
    assert fails.calls == []


def test_an_encoder_that_fails_on_refusal_fails_on_kept_ones_too(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path)

    for encoder in (Refusing(fails_on_refusal=True), Refusing(), Refusing(fails_on_refusal=True)):
        if encoder.fails_on_refusal:
            with pytest.raises(ValueError, match=r"sentence 1 \(from 0\): a c"):
                cache.embeddings(encoder, SENTENCES)
        else:
            assert not cache.embeddings(encoder, SENTENCES).from_cache
    assert cache.embeddings(Refusing(), SENTENCES).from_cache


def test_an_encoder_that_fails_on_refusal_takes_what_has_none(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path)
    cache.embeddings(Refusing(), SENTENCES[:1])

    assert cache.embeddings(Refusing(fails_on_refusal=True), SENTENCES[:1]).from_cache


@pytest.mark.parametrize("kept", [False, True])
def test_the_bag_of_words_refuses_with_and_without_what_is_kept(tmp_path: Path, kept: bool) -> None:
    vectors = write_vectors(tmp_path / "vectors", size=4)
    lenient = EncoderSettings(vectors=vectors)
    strict = replace(lenient, on_refusal="error")
    cache, sentences = EmbeddingCache(tmp_path / "kept"), ["the cat", ""]
    if kept:
        found = cache.embeddings(words_encoder(lenient), sentences)
        assert found.refused == (RefusedSentence(1, "empty", ""),)

    with pytest.raises(ValueError, match=r"sentence 1 \(from 0\): empty"):
        cache.embeddings(words_encoder(strict), sentences)


def test_only_the_missing_pooling_is_computed(tmp_path: Path) -> None:
    cache, encoder = EmbeddingCache(tmp_path), Counting()
    cache.embeddings(encoder, SENTENCES, ["mean"])

    found = cache.embeddings(encoder, SENTENCES, ["max", "mean"])

    assert encoder.calls == [("mean",), ("max",)]
    assert list(found.views) == ["0-DEP.max", "0-DEP.mean", "1-CONST.max", "1-CONST.mean"]


@pytest.mark.parametrize(
    ("digest", "sentences"), [("other", SENTENCES), ("abc", SENTENCES[::-1]), ("abc", ["a b", "c"])]
)
def test_another_encoder_or_list_is_computed(
    tmp_path: Path, digest: str, sentences: list[str]
) -> None:
    EmbeddingCache(tmp_path).embeddings(Counting(), SENTENCES)
    encoder = Counting(digest)

    EmbeddingCache(tmp_path).embeddings(encoder, sentences)

    assert encoder.calls == [("last",)]


def test_broken_files_are_computed_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache, encoder = EmbeddingCache(tmp_path), Counting()
    expected = cache.embeddings(encoder, SENTENCES)
    path = next(tmp_path.rglob("0-DEP.last.npy"))
    path.write_bytes(path.read_bytes()[:-1] + b"?")

    found = cache.embeddings(encoder, SENTENCES)

    assert len(encoder.calls) == 2
    assert "has another checksum than its manifest says" in caplog.text
    np.testing.assert_array_equal(found.views["0-DEP.last"], expected.views["0-DEP.last"])
    assert cache.embeddings(encoder, SENTENCES).from_cache


def test_nothing_unfinished_is_left(tmp_path: Path) -> None:
    EmbeddingCache(tmp_path).embeddings(Counting(), SENTENCES)

    place = tmp_path / "abc" / sentences_digest(SENTENCES)
    assert [path.name for path in place.iterdir()] == ["last"]
    assert sorted(path.name for path in (place / "last").iterdir()) == [
        "0-DEP.last.npy",
        "1-CONST.last.npy",
        "manifest.json",
    ]


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    host = socket.gethostname()
    place = tmp_path / "abc" / sentences_digest(SENTENCES)
    left = [f"{host}.{ended.pid}", f"{host}.{os.getppid()}", f"elsewhere.{ended.pid}"]
    for writer in left:
        (place / f"mean.{writer}.unfinished").mkdir(parents=True)
        (place / f"mean.{writer}.unfinished" / "0-DEP.mean.npy").touch()

    EmbeddingCache(tmp_path).embeddings(Counting(), SENTENCES)

    expected = ["last", *(f"mean.{writer}.unfinished" for writer in left[1:])]
    assert sorted(path.name for path in place.iterdir()) == sorted(expected)


def test_a_plain_encoder_is_kept_under_a_name_alone(tmp_path: Path) -> None:
    cache, encoder = EmbeddingCache(tmp_path), Plain()

    for name in (None, None, "mine", "mine", "mine-2"):
        found = cache.embeddings(encoder, SENTENCES, ["mean", "max"], name=name)
        assert list(found.views) == ["0-encoder.last"]

    assert encoder.calls == 4


def test_a_function_of_its_batch_is_kept_by_its_size(tmp_path: Path) -> None:
    def place_in_batch(sentences: list[str]) -> FloatArray:
        return np.arange(len(sentences), dtype=np.float32)[:, None]

    cache = EmbeddingCache(tmp_path)
    for size, expected in [(1, [0, 0, 0]), (2, [0, 1, 0]), (0, [0, 1, 2]), (1, [0, 0, 0])]:
        encoder = CallableEncoder(place_in_batch, "mine", batch_size=size)
        found = cache.embeddings(encoder, SENTENCES, name="mine").views["0-encoder.last"]
        assert found[:, 0].tolist() == expected


def test_without_a_folder_nothing_is_kept() -> None:
    encoder = Counting()
    for _ in range(2):
        EmbeddingCache(None).embeddings(encoder, SENTENCES)

    assert len(encoder.calls) == 2


@pytest.mark.parametrize("name", ["../up", "", "a/b", ".hidden"])
def test_a_name_that_is_no_file_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="give letters, digits"):
        EmbeddingCache(tmp_path).embeddings(Plain(), SENTENCES, name=name)


@pytest.mark.parametrize("digest", ["../up", "", "a/b", ".hidden"])
def test_a_digest_that_is_no_file_name_is_refused(tmp_path: Path, digest: str) -> None:
    with pytest.raises(ValueError, match=r"the encoder's digest .* give letters, digits"):
        EmbeddingCache(tmp_path / "cache").embeddings(Counting(digest), SENTENCES)
    assert list(tmp_path.iterdir()) == []


def test_an_answer_of_the_wrong_shape_is_not_stored(tmp_path: Path) -> None:
    class Short(Plain):
        def encode(self, sentences: Sequence[str]) -> FloatArray:
            return super().encode(sentences)[1:]

    with pytest.raises(ValueError, match=r"0-encoder.last has shape \[2, 3\] for 3 sentences"):
        EmbeddingCache(tmp_path).embeddings(Short(), SENTENCES, name="short")
    assert not list(tmp_path.rglob("*.npy"))
