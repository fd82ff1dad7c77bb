"""How a source is read side by side: its pieces, put together to parts of like size.

The parts depend on the text alone, so they are the same for any number of processes. A part holds
the text of one shard of sentences: little at first, so that a small corpus gives every core some.
Where the beginning of a text is enough, the parts of that alone are found: those that the whole
text begins with.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

from treeviews.pipeline.shards.shards import rows_in_shard
from treeviews.pipeline.text.documents import START, Document, Place, Source, Stream
from treeviews.pipeline.text.text_sources import reopen

PLAN_VERSION = 1
"""Raised when the same text would be cut into other parts; part of every digest."""
BYTES_PER_ROW = 125
"""Of text, for a sentence and what stands around it; English prose has about these."""
_UNCUT = 2
"""A document of at most so many parts' text is not cut."""


class Piece(NamedTuple):
    """What of one stream belongs to a part."""

    stream: int
    """Its number among the source's streams."""
    begin: Place = START
    end: Place | None = None
    """Where the next piece begins; None where this one reaches the stream's end."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one shard of sentences is made from."""

    pieces: tuple[Piece, ...]
    num_bytes: int
    """Of text."""


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A source and its parts, or the first of them."""

    source: Source
    streams: Sequence[Stream]
    parts: tuple[Part, ...]
    is_whole: bool = True
    """Whether these are known to be all parts."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """What the source had left out by then, by reason."""

    @property
    def num_bytes(self) -> int:
        """Of text in all parts."""
        return sum(part.num_bytes for part in self.parts)

    def documents(self, number: int) -> Iterator[Document]:
        """Yields the documents of a part, and the pieces of documents that are cut.

        Several parts are read fastest in order.

        Raises:
            ChangedTextError: the text is not the one that the plan was made for.
        """
        for piece in self.parts[number].pieces:
            stream = self.streams[piece.stream]
            stream.check_unchanged()
            yield from stream.documents(piece.begin, piece.end)
            stream.check_unchanged()

    def to_dict(self) -> dict[str, Any]:
        """Returns the plan as JSON-serialisable values."""
        return {
            "version": PLAN_VERSION,
            "source": self.source.to_dict(),
            "is_whole": self.is_whole,
            "left_out": dict(self.left_out),
            "parts": [[part.num_bytes, *map(_values_of, part.pieces)] for part in self.parts],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], source: Source | None = None) -> Plan:
        """Returns the plan that was made to this dictionary; nothing is read.

        Args:
            source: the plan's, where it is open.

        Raises:
            ValueError: it is of another release.
        """
        if values.get("version") != PLAN_VERSION:
            raise ValueError(
                f"a plan of version {values.get('version')}, this release has {PLAN_VERSION}; "
                "delete the folder of the sentences and run the stage again"
            )
        source = source or reopen(values["source"])
        parts = tuple(
            Part(tuple(map(_piece_of, pieces)), num_bytes) for num_bytes, *pieces in values["parts"]
        )
        return cls(source, source.streams(), parts, values["is_whole"], values["left_out"])


def plan_of(source: Source, num_bytes: float = math.inf) -> Plan:
    """Returns the parts of a source; reads through what can be cut of those that are wanted.

    Args:
        num_bytes: of text that is wanted: the plan ends with the part that reaches so many.
    """
    source.describe()  # before it is read, so that a change is noticed
    streams = source.streams()
    parts: list[Part] = []
    found = 0
    for part in _parts_of(streams):
        parts.append(part)
        found += part.num_bytes
        if found >= num_bytes:
            break
    is_whole = found < num_bytes
    return Plan(source, streams, tuple(parts), is_whole, source.left_out())


def _parts_of(streams: Sequence[Stream]) -> Iterator[Part]:
    """Yields the parts; none is found, and no stream opened, before it is asked for."""
    pieces: list[Piece] = []
    done = num_bytes = 0
    for number, stream in enumerate(streams):
        for piece, size in _pieces_of(number, stream, _target(done)):
            if pieces and pieces[-1].stream == number:
                pieces[-1] = pieces[-1]._replace(end=piece.end)
            else:
                pieces.append(piece)
            num_bytes += size
            if num_bytes >= _target(done):
                yield Part(tuple(pieces), num_bytes)
                pieces, num_bytes, done = [], 0, done + 1
    if pieces:
        yield Part(tuple(pieces), num_bytes)


def _target(number: int) -> int:
    """Returns how many bytes of text a part is to have at least."""
    return rows_in_shard(number) * BYTES_PER_ROW


def _pieces_of(number: int, stream: Stream, target: int) -> Iterator[tuple[Piece, int]]:
    """Yields the smallest pieces of a stream, each with its bytes of text."""
    places = stream.survey()
    if stream.is_one_document:
        places = _of_long_document(places, _UNCUT * target)
    begin, place = START, next(places)
    for following in places:
        yield Piece(number, begin, place), place.offset - begin.offset
        begin, place = place, following
    yield Piece(number, begin), place.offset - begin.offset


def _of_long_document(places: Iterator[Place], most: int) -> Iterator[Place]:
    """Yields the places of a document of more than ``most`` bytes; of another one, its end."""
    held: list[Place] = []
    for place in places:
        held.append(place)
        if place.offset > most:
            yield from chain(held, places)
            return
    yield held[-1]


def _values_of(piece: Piece) -> list[Any]:
    return [piece.stream, *piece.begin, *(piece.end or ())]


def _piece_of(values: Sequence[Any]) -> Piece:
    stream, offset, number, *end = values
    return Piece(stream, Place(offset, number), Place(*end) if end else None)
