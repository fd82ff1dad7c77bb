"""What is asked of every encoder in one way: strings in, vectors out in the form that is wanted.

Legend: n sentences, d width of an embedding.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, get_args

from models.config.views import Pooling
from models.encoding.encoder_interface import FloatArray
from models.search.similarity import normalized, similarity, similarity_pairwise
from pipeline.base.foreign_text import listed_strings

Progress = Callable[[float], None]
"""Takes the share of the sentences done, 0 to 1."""
LAST: tuple[Pooling, ...] = ("last",)


@dataclass(frozen=True, slots=True)
class Asked:
    """How sentences are to be encoded."""

    pooling: Sequence[Pooling] = LAST
    """How a view's states become one vector; several stand side by side."""
    batch_size: int | None = None
    """Sentences embedded at once; None takes what the encoder was loaded with."""

    def __post_init__(self) -> None:
        """Checks the fields.

        Raises:
            ValueError: one is out of range, or a pooling is unknown or doubled.
        """
        size = self.batch_size
        if size is not None and (isinstance(size, bool) or size < 1):
            raise ValueError(f"batch_size must be at least 1, got {size}")
        check_pooling(self.pooling)


class StringEncoder(ABC):
    """Encodes one string or many, and compares what comes out."""

    @abstractmethod
    def _vectors(
        self, sentences: Sequence[str], asked: Asked, on_progress: Progress | None
    ) -> FloatArray:
        """Returns one vector a sentence, float32 [n, d]."""

    def encode(
        self,
        sentences: str | Iterable[str],
        *,
        pooling: Pooling | Sequence[Pooling] = LAST,
        batch_size: int | None = None,
        show_progress: bool = False,
        normalize: bool = False,
    ) -> FloatArray:
        """Returns the embeddings, float32: all views and poolings side by side.

        ``encode(["It rains.", "It pours."])`` gives [2, d] in the order of the sentences,
        ``encode("It rains.")`` gives [d]. There are no prompts: a sentence is encoded as it is.
        May be called by several threads at once; those that compute states take turns.

        Args:
            sentences: raw text; each string is one sentence, whatever it holds.
            pooling: how a view's states become one vector, such as ``mean``; several stand side by
                side.
            batch_size: sentences embedded at once, fewer where they are long; None takes what the
                encoder was loaded with. It changes nothing but rounding, speed and memory.
            show_progress: whether to draw a bar on standard error.
            normalize: whether to give each embedding length 1; one of zeros stays one.

        Raises:
            ValueError: no strings, an option out of range, or sentences that cannot be taken where
                the encoder was loaded with ``on_refusal="error"``: names them, the reasons and the
                remedy. All empty and too long ones are found before any is parsed.
        """
        named: Any = (pooling,) if isinstance(pooling, str) else tuple(pooling)
        asked = Asked(named, batch_size)
        listed = [sentences] if isinstance(sentences, str) else listed_strings(sentences)
        with progress_bar(len(listed), shown=show_progress) as on_progress:
            vectors = self._vectors(listed, asked, on_progress)
        if normalize:
            vectors = normalized(vectors)
        return vectors[0] if isinstance(sentences, str) else vectors

    similarity = staticmethod(similarity)
    """See `models.search.similarity.similarity`."""
    similarity_pairwise = staticmethod(similarity_pairwise)
    """See `models.search.similarity.similarity_pairwise`."""


@contextmanager
def progress_bar(total: int, *, shown: bool) -> Iterator[Progress | None]:
    """Yields what moves a bar on standard error, or None where none is to be shown.

    Args:
        total: sentences.
    """
    if not shown:
        yield None
        return
    from tqdm import tqdm

    with tqdm(total=total, unit="sentence") as bar:
        yield lambda share: bar.update(round(share * total) - bar.n)


def check_pooling(pooling: Sequence[Pooling]) -> None:
    """Refuses poolings that cannot stand side by side.

    Raises:
        ValueError: one is unknown or named twice, or none is named.
    """
    unknown = [name for name in pooling if name not in get_args(Pooling)]
    if unknown or not pooling or len(set(pooling)) < len(pooling):
        raise ValueError(
            f"pooling must name one or several of {', '.join(get_args(Pooling))}, got "
            f"{list(pooling)}"
        )
