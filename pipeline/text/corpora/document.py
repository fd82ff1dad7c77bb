"""What every source of text yields: documents of paragraphs, in order, and what it refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from pipeline.base.refusal import Refusal


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One paragraph of running text on one line."""

    text: str
    position: str
    """Where it begins, as ``file:line``."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text whose sentences are context for one another; consumed once, in order."""

    document_id: str
    """Stable name, unique in its source."""
    paragraphs: Iterable[Paragraph | Refusal]


class Source(Protocol):
    """Where text comes from."""

    def describe(self) -> dict[str, Any]:
        """Returns everything that determines the content, JSON-serialisable, for a digest."""
        ...

    def documents(self) -> Iterator[Document]:
        """Yields the documents, in the same order on every call.

        A document's paragraphs are read before the next document is asked for.
        """
        ...

    def fraction_read(self) -> float:
        """Returns how much of the text the last iteration has read, from 0 to 1."""
        ...
