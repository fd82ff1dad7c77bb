"""What is asked of an encoder of sentences, and how the parts of its embeddings are called.

Legend: n sentences, d width of an encoder's embedding, H width of a view.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from models.config.views import UNORDERED_VIEWS, Pooling

FloatArray = npt.NDArray[np.float32]

OPAQUE_VIEW = "0-encoder"
"""The one view of an encoder that gives a matrix and says nothing of its states."""
WORDS_VIEW = "words"
"""The word vectors themselves, as a view: what a bag of words pools."""
_PLACE = re.compile(r"\d+-")


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
        """Of everything that determines the embeddings of a sentence."""
        ...

    def encode_views(
        self, sentences: Sequence[str], pooling: Sequence[Pooling] = ("last",)
    ) -> dict[str, FloatArray]:
        """Returns each view's vectors, float32 [n, H], by `key_of` view and pooling.

        A bag of words has no last state; its mean stands for it, once if both are asked for.
        """
        ...


@runtime_checkable
class MeasuredEncoder(ViewEncoder, Protocol):
    """One that names its views and their sizes before it has seen a sentence."""

    def widths(self, pooling: Sequence[Pooling] = ("last",)) -> dict[str, int]:
        """Returns the width of each array of `encode_views`, by its key and in its order."""
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


def placed(views: Sequence[str]) -> tuple[str, ...]:
    """Returns views as an encoder calls them, each with its place among them: ``0-SEQ``."""
    return tuple(f"{place}-{view}" for place, view in enumerate(views))


def name_of(view: str) -> str:
    """Returns a view's name without its place among the encoder's: SEQ of ``0-SEQ``."""
    place = _PLACE.match(view)
    return view if place is None else view[place.end() :]


def is_bag(view: str) -> bool:
    """Returns whether a view's states have no order, so that the last of them means nothing."""
    return name_of(view) in {WORDS_VIEW, *UNORDERED_VIEWS}


def chosen_views(available: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Returns the views that are asked for, in the encoder's order; all if none is.

    Args:
        available: the encoder's, as in ``0-SEQ``.
        wanted: each by its name, as in ``SEQ``, or with its place, as in ``0-SEQ``.

    Raises:
        ValueError: a view that the encoder has not, a name that several have, or one view named
            twice; lists those there are.
    """
    found = [_chosen_view(available, one) for one in wanted]
    if doubled := sorted({view for view in found if found.count(view) > 1}):
        raise ValueError(f"views {list(wanted)} name {', '.join(doubled)} twice")
    return [view for view in available if not wanted or view in found]


def _chosen_view(available: Sequence[str], wanted: str) -> str:
    if wanted in available:
        return wanted
    named = [view for view in available if name_of(view) == wanted]
    if len(named) > 1:
        raise ValueError(f"several views are called {wanted}; give one of {', '.join(named)}")
    if not named:
        raise ValueError(f"no view {wanted!r}; the encoder's are {', '.join(available) or 'none'}")
    return named[0]
