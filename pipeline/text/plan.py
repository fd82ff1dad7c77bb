"""How a source is read side by side: its parts of like size.

The parts depend on the text alone, so they are the same for any number of processes. A part holds
the text of one shard of sentences: little at first, so that a small corpus gives every core some.
Where the beginning of a text is enough, the parts of that alone are found: those that the whole
text begins with.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
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


class Part(NamedTuple):
    """What one shard of sentences is made from, which begins where the part before it ends."""

    num_bytes: int
    """Of text."""
    stream: int
    """Number of the stream in which it ends."""
    end: Place
    """Where the next part begins in that stream, of which it has nothing where that is `START`."""


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
        _, first, begin = self.parts[number - 1] if number else Part(0, 0, START)
        _, last, end = self.parts[number]
        for place in range(first, last + (end != START)):
            stream = self.streams[place]
            stream.check_unchanged()
            from_here = begin if place == first else START
            yield from stream.documents(from_here, end if place == last else None)
            stream.check_unchanged()

    def to_dict(self) -> dict[str, Any]:
        """Returns the plan as JSON-serialisable values."""
        return {
            "source": self.source.to_dict(),
            "is_whole": self.is_whole,
            "left_out": dict(self.left_out),
            "ends": self.parts,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], source: Source | None = None) -> Plan:
        """Returns the plan that was made to this dictionary; nothing is read.

        Args:
            source: the plan's, where it is open.
        """
        source = source or reopen(values["source"])
        parts = tuple(Part(size, stream, Place(*end)) for size, stream, end in values["ends"])
        return cls(source, source.streams(), parts, values["is_whole"], values["left_out"])


def plan_of(source: Source, num_bytes: float = math.inf) -> Plan:
    """Returns the parts of a source; reads through what can be cut of those that are wanted.

    Args:
        num_bytes: of text that is wanted: the plan ends with the part that reaches so many.
    """
    source.describe()  # before it is read, so that a change is noticed
    streams = source.streams()
    parts: list[Part] = []
    missing = num_bytes
    for part in _parts_of(streams):
        parts.append(part)
        missing -= part.num_bytes
        if missing <= 0:
            break
    return Plan(source, streams, tuple(parts), missing > 0, source.left_out())


def _parts_of(streams: Sequence[Stream]) -> Iterator[Part]:
    """Yields the parts; none is found, and no stream opened, before it is asked for."""
    done = num_bytes = 0
    is_begun = False
    for number, stream in enumerate(streams):
        begin = START
        for place, is_end in _places_of(stream, _target(done)):
            num_bytes += place.offset - begin.offset
            begin, is_begun = place, True
            if num_bytes >= _target(done):
                yield Part(num_bytes, number + is_end, START if is_end else place)
                num_bytes, done, is_begun = 0, done + 1, False
    if is_begun:
        yield Part(num_bytes, len(streams), START)


def _target(number: int) -> int:
    """Returns how many bytes of text a part is to have at least."""
    return rows_in_shard(number) * BYTES_PER_ROW


def _places_of(stream: Stream, target: int) -> Iterator[tuple[Place, bool]]:
    """Yields where a stream is cut, and last, which is true of no other place, its end."""
    places = stream.survey()
    if stream.is_one_document:
        first = []
        for place in places:
            first.append(place)
            if place.offset > _UNCUT * target:
                break
        else:  # a short one
            first = first[-1:]
        places = chain(first, places)
    for cut, following in pairwise(chain(places, [None])):
        assert cut is not None
        yield cut, following is None
