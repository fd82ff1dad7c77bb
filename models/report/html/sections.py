"""What a report says, as data: sections of text, tables and figures.

`models.report.html.page` renders them as HTML, `models.report.markdown` as Markdown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from models.report.html.drawing import Drawing


@dataclass(frozen=True, slots=True)
class Code:
    """A name, a path or a short command within a line."""

    text: str


Span = str | Code


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph; an empty one is left out."""

    spans: tuple[Span, ...]

    @classmethod
    def of(cls, *spans: Span) -> Paragraph:
        """Returns the paragraph of these words."""
        return cls(spans)


@dataclass(frozen=True, slots=True)
class Subheading:
    """The heading of what follows within a section."""

    text: str


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and what they are, such as the corpus and the seed of a run."""

    pairs: tuple[tuple[str, Span], ...]


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Lines to copy, or to read as they are."""

    text: str
    language: str
    """As Markdown names it: ``sh``, ``json``."""


Mark = Literal["", "better", "worse"]
SIGNS: dict[Mark, str] = {"": "", "better": "▲", "worse": "▼"}
"""Of a figure that differs from its baseline; two forms, so that no colour need be seen."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table that bears a mark of significance, or small print."""

    text: str
    mark: Mark = ""
    small: str = ""
    """Said beside it, smaller."""

    @property
    def plain(self) -> str:
        """The cell as one line of text."""
        return " ".join(part for part in (self.text, SIGNS[self.mark], self.small) if part)


@dataclass(frozen=True, slots=True)
class Group:
    """A row of a table that is the heading of the rows below it."""

    text: str


Row = tuple[str | Cell, ...] | Group


@dataclass(frozen=True, slots=True)
class Table:
    """A table; columns after the first text columns hold figures, but for those named.

    Raises:
        ValueError: a row has not one cell a column.
    """

    caption: str
    header: tuple[str, ...]
    rows: tuple[Row, ...]
    num_text_columns: int = 1
    further_text: tuple[int, ...] = ()
    """Places of columns of words among or after those of figures."""

    def __post_init__(self) -> None:
        for row in self.rows:
            if not isinstance(row, Group) and len(row) != len(self.header):
                raise ValueError(
                    f"table row {list(row)} does not fit the header {list(self.header)}"
                )

    @classmethod
    def of(
        cls,
        caption: str,
        header: Sequence[str],
        rows: Sequence[Sequence[str | Cell] | Group],
        num_text_columns: int = 1,
        further_text: tuple[int, ...] = (),
    ) -> Table:
        """Returns the table of these lists."""
        made = (row if isinstance(row, Group) else tuple(row) for row in rows)
        return cls(caption, tuple(header), tuple(made), num_text_columns, further_text)

    def holds_words(self, column: int) -> bool:
        """Returns whether a column holds words, and not figures."""
        return column < self.num_text_columns or column in self.further_text


@dataclass(frozen=True, slots=True)
class Figure:
    """Drawings that belong together, with what they show."""

    caption: str
    drawings: tuple[Drawing, ...]


@dataclass(frozen=True, slots=True)
class Folded:
    """Parts that a page shows when they are asked for; Markdown shows them at once."""

    summary: str
    parts: tuple[Part, ...]


Part = Paragraph | Subheading | Bullets | Facts | CodeBlock | Table | Figure | Folded


@dataclass(frozen=True, slots=True)
class Section:
    """A section under its title."""

    title: str
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, title: str, *parts: Part | None) -> Section:
        """Returns the section; parts that are None are left out."""
        return cls(title, tuple(part for part in parts if part is not None))

    @property
    def drawings(self) -> list[Drawing]:
        """The drawings of its figures."""
        return _drawings(self.parts)


def _drawings(parts: Sequence[Part]) -> list[Drawing]:
    found: list[Drawing] = []
    for part in parts:
        if isinstance(part, Figure):
            found += part.drawings
        elif isinstance(part, Folded):
            found += _drawings(part.parts)
    return found


@dataclass(frozen=True, slots=True)
class Page:
    """A whole report."""

    title: str
    headline: Sequence[str]
    """The result in a sentence or a few; the first one leads."""
    sections: Sequence[Section]
