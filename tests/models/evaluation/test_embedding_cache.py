"""Embeddings are computed once for an encoder, a list of sentences and a pooling."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from models.config.views import Pooling
from models.encoding.encoder_interface import FloatArray
from models.evaluation.evaluate_task import EmbeddingCache
from pipeline.base.refusal import RefusedSentence

SENTENCES = ["a b", "c", "a"]


class Counting:
    """An encoder with views that cannot take "c", and knows how often it was asked for what."""

    digest = "abc"

    def __init__(self) -> None:
        self.calls: list[tuple[str, ...]] = []
        self.refused: list[RefusedSentence] = []

    def encode(self, sentences: Sequence[str]) -> FloatArray:
        raise AssertionError("views are there to be asked for")

    def encode_views(
        self, sentences: Sequence[str], pooling: Sequence[Pooling] = ("last",)
    ) -> dict[str, FloatArray]:
        self.calls.append(tuple(pooling))
        at = [i for i, sentence in enumerate(sentences) if sentence == "c"]
        self.refused = [RefusedSentence(i, "parser_error", "a c") for i in at]
        lengths = np.array([[len(s), len(p)] for p in pooling for s in sentences], np.float32)
        parts = lengths.reshape(len(pooling), len(sentences), 2)
        views = ("0-DEP", "1-CONST")
        return {f"{v}.{p}": parts[i] for v in views for i, p in enumerate(pooling)}


def test_only_the_missing_pooling_is_computed() -> None:
    cache, encoder = EmbeddingCache(), Counting()
    cache.embeddings(encoder, SENTENCES, ["mean"])

    for _ in range(2):
        found = cache.embeddings(encoder, SENTENCES, ["max", "mean"])

    assert encoder.calls == [("mean",), ("max",)]
    assert list(found.views) == ["0-DEP.max", "0-DEP.mean", "1-CONST.max", "1-CONST.mean"]
    assert found.refused == (RefusedSentence(1, "parser_error", "a c"),)


def test_another_encoder_or_list_is_computed() -> None:
    cache, encoder, other = EmbeddingCache(), Counting(), Counting()
    for one, sentences in [(encoder, SENTENCES), (other, SENTENCES), (encoder, SENTENCES[::-1])]:
        cache.embeddings(one, sentences)

    assert (encoder.calls, other.calls) == ([("last",), ("last",)], [("last",)])


def test_an_answer_of_the_wrong_shape_is_refused() -> None:
    class Short:
        def encode(self, sentences: Sequence[str]) -> FloatArray:
            return np.ones((len(sentences) - 1, 3), dtype=np.float32)

    with pytest.raises(ValueError, match=r"0-encoder.last has shape \[2, 3\] for 3 sentences"):
        EmbeddingCache().embeddings(Short(), SENTENCES)
