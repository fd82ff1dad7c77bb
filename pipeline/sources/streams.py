"""What a source is: streams of text, each of which can be read from several places on.

A stream is a file, or something like it. Where it can be cut is found once, by reading it as far as
it is wanted (`Stream.survey`); after that each piece is read by itself, on any machine that has the
stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from pipeline.sources.paragraphs import Document

STEP_BYTES = 500_000
"""Least text between two places at which a stream can be cut."""


class Place(NamedTuple):
    """A place in a stream."""

    offset: int
    """Bytes of text before it, compression undone."""
    number: int
    """What stands before it: lines of a text, otherwise documents."""


START = Place(0, 0)


class Stream(Protocol):
    """Text that is read in one go, such as a file's."""

    @property
    def name(self) -> str:
        """Tells it from the source's other streams."""
        ...

    @property
    def is_one_document(self) -> bool:
        """Whether its text is one document, which is cut only where it is long."""
        ...

    @property
    def is_sought(self) -> bool:
        """Whether reading from a place on takes no time for what is before it."""
        ...

    def survey(self) -> Iterator[Place]:
        """Yields where it can be cut, in order, `STEP_BYTES` or more apart; last, its end.

        There is always an end: what cannot be read is refused when that piece is read. No more is
        read than finding the places takes that are asked for.
        """
        ...

    def documents(self, begin: Place = START, end: Place | None = None) -> Iterator[Document]:
        """Yields the documents of a piece; each is read before the next is asked for.

        Args:
            begin: where the piece begins, as `survey` gave it.
            end: where the next one begins; None reads on to the end.
        """
        ...

    def knows_characters(self, place: Place) -> bool:
        """Whether paragraphs from a place on can say where in their document they start.

        Where a document is cut, that is so when the stream was read up to there.
        """
        ...

    def check_unchanged(self) -> None:
        """Does nothing where the stream is what its source described.

        Raises:
            ChangedTextError: it is not.
        """
        ...


class Source(Protocol):
    """Where text comes from."""

    def describe(self) -> dict[str, Any]:
        """Returns everything that determines the content, JSON-serialisable, for a digest."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Returns what `pipeline.sources.opened.reopened` makes the same source from elsewhere.

        With what `describe` found, so that a change of the text in between is noticed there.
        """
        ...

    def streams(self) -> Sequence[Stream]:
        """Returns the streams, in the same order on every call."""
        ...

    def left_out(self) -> Mapping[str, int]:
        """Returns how many things beside the text were met and not read, by reason."""
        ...


def documents_of(source: Source) -> Iterator[Document]:
    """Yields all documents of a source, in order.

    Raises:
        ChangedTextError: what was read is not what was described.
    """
    for stream in source.streams():
        yield from stream.documents()
        stream.check_unchanged()


def places_between(sizes: Iterable[int]) -> Iterator[Place]:
    """Yields the places between documents that are far enough apart, and the end of the last.

    Args:
        sizes: of all documents of a stream, in bytes of text.
    """
    last = START
    offset = number = 0
    for number, size in enumerate(sizes, start=1):
        offset += size
        if offset - last.offset >= STEP_BYTES:
            last = Place(offset, number)
            yield last
    if last == START or last != Place(offset, number):
        yield Place(offset, number)
