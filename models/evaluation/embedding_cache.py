"""Embeddings of the last list of sentences, computed once for all tasks that read it.

Tasks of one dataset follow one another. Nothing is kept on disk: parses are, and what is made of
them is quick.

Legend: n sentences, H width of a view.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models.config.views import Pooling
from models.encoding.encoder import Encoder
from models.encoding.search import FloatArray
from pipeline.base.refusal import RefusedSentence


@dataclass(frozen=True, slots=True, eq=False)
class Embeddings:
    """What an encoder makes of sentences."""

    views: dict[str, FloatArray]
    """[n, H] by view and pooling."""
    seconds: float
    """Time that the computation took; little if parses were kept."""
    refused: tuple[RefusedSentence, ...]
    """Sentences that the encoder could not take and gave zeros for."""

    @property
    def num_refused(self) -> int:
        """How many sentences are zeros."""
        return len(self.refused)


class EmbeddingCache:
    """Embeddings by encoder and pooling, until another list of sentences is asked for."""

    def __init__(self) -> None:
        self._sentences: tuple[str, ...] = ()
        self._found: dict[tuple[int, Pooling], tuple[Encoder, Embeddings]] = {}

    def embeddings(
        self, encoder: Encoder, sentences: Sequence[str], pooling: Sequence[Pooling] = ("last",)
    ) -> Embeddings:
        """Returns the embeddings.

        Args:
            encoder: one that knows no views gives the view ``0-encoder.last``, whatever the
                pooling.
            sentences: a list.
            pooling: how a view's states become one vector.

        Raises:
            ValueError: what the encoder says of its input.
        """
        if self._sentences != tuple(sentences):
            self._found.clear()  # frees the memory before more is taken
            self._sentences = tuple(sentences)
        if not encoder.has_views:
            pooling = ("last",)
        if missing := [pool for pool in pooling if (id(encoder), pool) not in self._found]:
            for pool, made in _computed(encoder, sentences, missing).items():
                self._found[id(encoder), pool] = (encoder, made)
        return _together([self._found[id(encoder), pool][1] for pool in pooling])


def _together(parts: Sequence[Embeddings]) -> Embeddings:
    """Returns the embeddings by several poolings, those of a view beside each other."""
    views = {key: matrix for part in parts for key, matrix in part.views.items()}
    return Embeddings(
        views={key: views[key] for key in sorted(views, key=lambda key: key.rpartition(".")[0])},
        seconds=sum(part.seconds for part in parts),
        refused=max((part.refused for part in parts), key=len),
    )


def _computed(
    encoder: Encoder, sentences: Sequence[str], pooling: Sequence[Pooling]
) -> dict[Pooling, Embeddings]:
    """Returns the embeddings by each pooling; they share one computation and its time."""
    started = time.perf_counter()
    views = encoder.encode_views(sentences, pooling)
    for key, matrix in views.items():
        if matrix.ndim != 2 or len(matrix) != len(sentences) or not np.isfinite(matrix).all():
            raise ValueError(
                f"the encoder's {key} has shape {list(matrix.shape)} for {len(sentences)} "
                "sentences, or values that are not finite"
            )
    seconds = (time.perf_counter() - started) / len(pooling)
    refused = tuple(encoder.refused)
    return {name: Embeddings(_of_pooling(views, name), seconds, refused) for name in pooling}


def _of_pooling(views: dict[str, FloatArray], pooling: Pooling) -> dict[str, FloatArray]:
    """Returns the arrays of a pooling; of a bag without a last state, its mean."""
    chosen = {key: matrix for key, matrix in views.items() if key.endswith(f".{pooling}")}
    if not chosen and pooling == "last":
        return {key: matrix for key, matrix in views.items() if key.endswith(".mean")}
    return chosen
