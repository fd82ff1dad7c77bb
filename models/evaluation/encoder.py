"""What an evaluation asks of an encoder, and how the parts of its embeddings are called.

Legend: n sentences, d width of an encoder's embedding, H width of a view.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from models.refusal import Refusal
from models.variants import Pooling

__all__ = [
    "OPAQUE_VIEW",
    "WORDS_VIEW",
    "Encoder",
    "FloatArray",
    "Pooling",
    "RefusingEncoder",
    "ViewEncoder",
    "is_bag",
    "key_of",
    "view_and_pooling",
]

FloatArray = npt.NDArray[np.float32]

OPAQUE_VIEW = "0-encoder"
"""The one view of an encoder that gives a matrix and says nothing of its states."""
WORDS_VIEW = "words"
"""The word vectors themselves, as a view: what a bag of words pools."""


@runtime_checkable
class Encoder(Protocol):
    """Anything that turns sentences into vectors."""

    def encode(self, sentences: Sequence[str]) -> FloatArray:
        """Returns one vector a sentence, float32 [n, d], in the order of the sentences.

        Args:
            sentences: raw text, a sentence each.
        """
        ...


@runtime_checkable
class ViewEncoder(Encoder, Protocol):
    """An encoder that gives its views one by one and pools their states as asked."""

    @property
    def digest(self) -> str:
        """Of everything that determines the embeddings of a sentence; names a folder of caches."""
        ...

    def encode_views(
        self, sentences: Sequence[str], pooling: Sequence[Pooling] = ("last",)
    ) -> dict[str, FloatArray]:
        """Returns each view's vectors, float32 [n, H], by `key_of` view and pooling.

        A bag of words has no last state; its mean stands for it, once if both are asked for.
        """
        ...


@runtime_checkable
class RefusingEncoder(Encoder, Protocol):
    """An encoder that cannot take every sentence, and says which."""

    @property
    def refused(self) -> Sequence[Refusal]:
        """Sentences of the last call that became zeros."""
        ...

    @property
    def fails_on_refusal(self) -> bool:
        """Whether a sentence that cannot be taken is an error instead of zeros."""
        ...


def key_of(view: str, pooling: Pooling) -> str:
    """Returns the key of a view's pooled vectors, as in ``0-DEP.last``."""
    return f"{view}.{pooling}"


def view_and_pooling(key: str) -> tuple[str, str]:
    """Returns the two parts of a key.

    Raises:
        ValueError: it has no pooling.
    """
    view, point, pooling = key.rpartition(".")
    if not point or not view:
        raise ValueError(f"embeddings {key!r} are not named by view and pooling, as in 0-DEP.last")
    return view, pooling


def is_bag(view: str) -> bool:
    """Returns whether a view's states have no order, so that the last of them means nothing."""
    return view == WORDS_VIEW or view.endswith("-BOW")
