"""A source of text whose documents a test writes out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from treeviews.pipeline.base.refusal import Refusal
from treeviews.pipeline.text.documents import START, Document, Paragraph, Place, Source, Stream


class Memory(Source, Stream):
    """A source of one stream that holds its documents: a list of paragraphs each."""

    name = "memory"

    def __init__(self, documents: Mapping[str, Sequence[str | Refusal]]) -> None:
        self._documents = documents

    def describe(self) -> dict[str, object]:
        return {"source": "memory", "documents": repr(self._documents)}

    def streams(self) -> list[Memory]:
        return [self]

    def survey(self) -> Iterator[Place]:
        sizes = accumulate(len(items) for items in self._documents.values())
        yield from (Place(size, number) for number, size in enumerate(sizes, start=1))

    def documents(self, begin: Place = START, end: Place | None = None) -> Iterator[Document]:
        chosen = list(self._documents.items())[begin.number : end and end.number]
        for name, items in chosen:
            paragraphs = (
                item if isinstance(item, Refusal) else Paragraph(item, f"{name}:{number}")
                for number, item in enumerate(items, start=1)
            )
            yield Document(name, paragraphs)
