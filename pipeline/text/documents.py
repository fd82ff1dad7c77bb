"""Documents of paragraphs, which every source yields.

A source is a list of streams, such as files. Where a stream can be cut is found by reading it once
(`Stream.survey`); after that each piece is read by itself, on any machine that has the stream. Text
is read in bounded memory, and what of it cannot be read is refused in its place.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from treeviews.pipeline.base.refusal import Refusal

STEP_BYTES = 500_000
"""Least text between two places at which a stream can be cut."""


ParagraphMode = Literal["blank-line", "line"]
"""What ends a paragraph."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One paragraph of running text on one line."""

    text: str
    position: str
    """Where it begins, as ``file:line``."""
    start: int | None = None
    """Characters of the document before it, where each line end is one; None where not known."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text whose sentences are context for one another; consumed once, in order."""

    document_id: str
    """Stable name, unique in its source."""
    paragraphs: Iterable[Paragraph | Refusal]
    first_index: int = 0
    """Index of its first sentence; where this is a later piece of the document, one that no
    sentence before has."""


class ChangedTextError(ValueError):
    """A text is not, or no longer, the one that its source described; nothing of it may be kept."""


class Place(NamedTuple):
    """A place in a stream."""

    offset: int
    """Bytes of text before it, compression undone."""
    number: int
    """What stands before it: lines of a text, otherwise documents."""


START = Place(0, 0)


class Stream(ABC):
    """Text that is read in one go, such as a file's."""

    is_one_document: bool = False
    """Whether its text is one document, which is cut only where it is long."""
    is_sought: bool = False
    """Whether reading from a place on takes no time for what is before it."""

    @abstractmethod
    def survey(self) -> Iterator[Place]:
        """Yields where it can be cut, in order, `STEP_BYTES` or more apart; last, its end.

        There is always an end: what cannot be read is refused when that piece is read. No more is
        read than finding the places takes that are asked for.
        """

    @abstractmethod
    def documents(self, begin: Place = START, end: Place | None = None) -> Iterator[Document]:
        """Yields the documents of a piece; each is read before the next is asked for.

        Args:
            begin: where the piece begins, as `survey` gave it.
            end: where the next one begins; None reads on to the end.
        """

    def check_unchanged(self) -> None:  # noqa: B027 - most streams do not change
        """Does nothing where the stream is what its source described.

        Raises:
            ChangedTextError: it is not.
        """


class Source(ABC):
    """Where text comes from."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Returns everything that determines the content, JSON-serialisable, for a digest."""

    def to_dict(self) -> dict[str, Any]:
        """Returns what `text_sources.reopen` makes the same source from in another process.

        With what `describe` found, so that a change of the text in between is noticed there.
        """
        return self.describe()

    @abstractmethod
    def streams(self) -> Sequence[Stream]:
        """Returns the streams, in the same order on every call."""

    def left_out(self) -> Mapping[str, int]:
        """Returns how many things beside the text were met and not read, by reason."""
        return {}


def places_apart(places: Iterable[Place]) -> Iterator[Place]:
    """Yields those places that are far enough apart, and the last one, which is the end."""
    last = end = START
    for end in places:
        if end.offset - last.offset >= STEP_BYTES:
            last = end
            yield end
    if last == START or last != end:
        yield end
