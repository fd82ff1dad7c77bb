"""What a page says, as data, and its rendering to HTML, Markdown and LaTeX.

A page has sections, a section parts: text, lists, tables, figures. Each format is a template of
jinja2 beside this file. Every text that a template prints is escaped for its format: markup, quotes
and control characters of a sentence, a label or a file name show as themselves. The HTML page needs
nothing else: a Content-Security-Policy forbids scripts and requests.

    page = Page("Scores", ["Trees help."], [Section.of("Table", Table("…", header, rows))])
    path.write_text(html_page(page), encoding="utf-8")
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from treeviews.pipeline.base.foreign_text import escaped_markdown, printable

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent
Mark = Literal["", "better", "worse"]
SIGNS: dict[Mark, str] = {"": "", "better": "▲", "worse": "▼"}
"""Of a figure that differs from its baseline; two forms, so that no colour need be seen."""


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Lines to copy, or to read as they are."""

    text: str
    language: str
    """As Markdown names it: ``sh``, ``json``."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table that bears a mark of significance, or small print."""

    text: str
    mark: Mark = ""
    small: str = ""
    """Beside the text, smaller."""

    def __str__(self) -> str:
        return " ".join(part for part in (self.text, SIGNS[self.mark], self.small) if part)


Row = str | Sequence[str | Cell]
"""A row of a table; a string is a heading over the rows below it."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Raises:
        ValueError: a row has not one cell a column.
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Row]
    words: Collection[int] = (0,)
    """Places of columns that hold words; the others hold figures, aligned right."""

    def __post_init__(self) -> None:
        for row in self.rows:
            if not isinstance(row, str) and len(row) != len(self.header):
                raise ValueError(
                    f"table row {list(row)} does not fit the header {list(self.header)}"
                )


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawing of `models.report.training_section`, as SVG."""

    name: str
    """Of its file, without a suffix."""
    title: str
    """What it shows, for those who do not see it."""
    caption: str
    svg: str
    """As matplotlib writes it, in the light colours of the style sheet."""

    @property
    def inline(self) -> str:
        """The drawing within a page, whose theme gives its colours."""
        unused = r'^.*?(?=<svg)|<metadata>.*?</metadata>|<style.*?</style>|(?<=<g) id="[^"]*"'
        svg = re.sub(unused, "", self.svg, flags=re.DOTALL)
        for name, color in theme_colors().items():
            svg = svg.replace(color, f"var(--{name})")
        return svg


@dataclass(frozen=True, slots=True)
class Folded:
    """Parts that a page shows when they are asked for; Markdown shows them at once."""

    summary: str
    parts: tuple[Part, ...]


Part = str | list[str] | dict[str, str] | CodeBlock | Table | Drawing | Folded
"""A string is a paragraph, a list has bullets, and a mapping names facts."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section under its title."""

    title: str
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, title: str, *parts: Part | None) -> Section:
        """Returns the section; empty parts are left out."""
        return cls(title, tuple(part for part in parts if part))


@dataclass(frozen=True, slots=True)
class Page:
    """A whole report."""

    title: str
    headline: Sequence[str]
    """The result in a sentence or a few; the first one leads."""
    sections: Sequence[Section]


def html_page(page: Page) -> str:
    """Returns one self-contained HTML page; the same page for the same content."""
    names = (re.sub(r"[^a-z0-9]+", "-", section.title.lower()) for section in page.sections)
    sections = list(zip(names, page.sections, strict=True))
    return _render("page.html", page=page, sections=sections, style=style_sheet())


def markdown_page(page: Page) -> str:
    """Returns a page as Markdown; drawings are files beside it that bear their names."""
    headline = [f"**{escaped_markdown(page.headline[0])}**"] if page.headline else []
    headline += map(escaped_markdown, page.headline[1:])
    sections = map(markdown_section, page.sections)
    return "\n\n".join([f"# {escaped_markdown(page.title)}", *headline, *sections]) + "\n"


def markdown_section(section: Section) -> str:
    """Returns a section as Markdown; one without a title is its parts alone."""
    return _render("section.md", section=section).rstrip("\n")


def latex_table(table: Table, label: str, notes: Sequence[str]) -> str:
    r"""Returns a ``table*`` with the rules of booktabs; the notes stand above as comments.

    A document needs ``\usepackage{booktabs}``; before LaTeX of 2018 ``inputenc`` and before 2020
    ``textcomp``, too.
    """
    columns = "".join("l" if place in table.words else "r" for place in range(len(table.header)))
    comments = [" ".join(printable(note, keep_lines=True).split()) for note in notes]
    return _render("table.tex", table=table, columns=columns, label=label, comments=comments)


def style_sheet() -> str:
    """Returns the style of pages; its ``:root`` names the colours, also those of curves."""
    return (TEMPLATES / "page.css").read_text(encoding="utf-8")


def theme_colors() -> dict[str, str]:
    """Returns the colours of the light theme, by name."""
    light, _, _ = style_sheet().partition("@media")
    return dict(re.findall(r"--(\w+): (#\w+);", light))


def _render(template: str, **values: Any) -> str:
    return _environment(template).get_template(template).render(values).strip("\n") + "\n"


@cache
def _environment(template: str) -> Environment:
    """Returns jinja2's environment in which every printed text is escaped for the format."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup, escape

    escapes: dict[str, Callable[[str], str]] = {
        ".html": lambda text: escape(printable(text)),
        ".md": lambda text: Markup(escaped_markdown(text)),
        ".tex": lambda text: Markup(escaped_latex(text)),
    }
    escaped = escapes[Path(template).suffix]
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=lambda value: value if isinstance(value, Markup) else escaped(str(value)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    if template.endswith(".tex"):  # in which braces are common
        environment.block_start_string, environment.block_end_string = "<%", "%>"
        environment.variable_start_string, environment.variable_end_string = "<<", ">>"
    environment.globals["SIGNS"] = SIGNS
    environment.filters.update(
        kind=lambda part: type(part).__name__,
        trusted=Markup,
        lines=lambda text: escape(printable(text, keep_lines=True)),
        code_block=lambda block: Markup(_code_block(block)),
        markdown_table=lambda table: Markup(table_lines(table)),
        latex_row=lambda row: Markup(" & ".join(map(escaped_latex, row)) + r" \\"),
    )
    return environment


def markdown_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, num_text_columns: int = 1
) -> str:
    """Returns a Markdown table; columns after the first text columns are aligned right."""
    return table_lines(Table("", header, rows, range(num_text_columns)))


def table_lines(table: Table) -> str:
    """Returns a table as Markdown."""
    width = len(table.header)
    rows = [[row, *[""] * (width - 1)] if isinstance(row, str) else row for row in table.rows]
    header, *body = ([escaped_markdown(cell) for cell in row] for row in (table.header, *rows))
    rule = ["---" if place in table.words else "---:" for place in range(width)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rule, *body))


def _code_block(block: CodeBlock) -> str:
    """Returns lines as a block of code, whatever fences they hold."""
    text = printable(block.text, keep_lines=True)
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}{block.language}\n{text}\n{fence}"


_LATEX: dict[str, str | int | None] = {
    **{sign: rf"\{sign}" for sign in "{}&%$#_"},
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "`": r"\textasciigrave{}",
    '"': "''", "±": r"$\pm$", "−": r"$-$", "×": r"$\times$", "–": "--", "—": "---", "…": r"\dots{}",
}  # fmt: skip


def escaped_latex(text: object) -> str:
    """Returns text that LaTeX prints as it is, on one line: no command, comment, cell or formula.

    A bracket that begins a cell is kept from being taken for an option of the line's end.
    """
    line = " ".join(printable(text, keep_lines=True).split())
    escaped = line.translate(str.maketrans(_LATEX))
    return f"{{}}{escaped}" if escaped.startswith(("[", "*")) else escaped
