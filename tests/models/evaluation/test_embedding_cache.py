"""Embeddings are computed once for an encoder, a list of sentences and a pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from models.config.views import Pooling
from models.encoding.search import FloatArray
from models.evaluation.embedding_cache import EmbeddingCache
from pipeline.base.refusal import RefusedSentence

SENTENCES = ["a b", "c", "a"]


class Counting:
    """An encoder with views that cannot take "c", and knows how often it was asked for what."""

    has_views = True

    def __init__(self) -> None:
        self.calls: list[tuple[str, ...]] = []
        self.refused: list[RefusedSentence] = []

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
    cache: Any = EmbeddingCache()
    encoder = Counting()
    cache.embeddings(encoder, SENTENCES, ["mean"])

    for _ in range(2):
        found = cache.embeddings(encoder, SENTENCES, ["max", "mean"])

    assert encoder.calls == [("mean",), ("max",)]
    assert list(found.views) == ["0-DEP.max", "0-DEP.mean", "1-CONST.max", "1-CONST.mean"]
    assert found.refused == (RefusedSentence(1, "parser_error", "a c"),)


def test_another_encoder_or_list_is_computed() -> None:
    cache: Any = EmbeddingCache()
    encoder, other = Counting(), Counting()
    for one, sentences in [(encoder, SENTENCES), (other, SENTENCES), (encoder, SENTENCES[::-1])]:
        cache.embeddings(one, sentences)

    assert (encoder.calls, other.calls) == ([("last",), ("last",)], [("last",)])
