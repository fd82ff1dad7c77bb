"""One self-contained HTML page from sections: no script, and nothing from elsewhere.

A Content-Security-Policy in the page forbids scripts and every request; the style sheet is allowed
by its sha256.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence

from models.report.html.drawing import inline
from models.report.html.markup import (
    Attributes,
    Child,
    Markup,
    element,
    joined,
    raw_style,
    text,
)
from models.report.html.sections import (
    SIGNS,
    Bullets,
    Cell,
    Code,
    CodeBlock,
    Facts,
    Figure,
    Folded,
    Group,
    Page,
    Paragraph,
    Part,
    Row,
    Section,
    Span,
    Subheading,
    Table,
)
from models.report.html.style import PAGE_STYLE, SVG_STYLE

_STYLE = PAGE_STYLE + SVG_STYLE
_LINE = Markup("\n")
_LONG = 40
"""Characters of a cell that gets room for its words."""
_LONG_AT_THE_END = 16
"""The same right of the figures, where room costs nothing and tall rows would."""
_MARKS_IN_WORDS = {"better": "better than the baseline", "worse": "worse than the baseline"}


def html_page(page: Page) -> str:
    """Returns the page; the same page for the same content."""
    names = _names([section.title for section in page.sections])
    lead, *further = page.headline or [page.title]
    links = (
        element("li", {}, element("a", {"href": f"#{name}"}, section.title))
        for name, section in zip(names, page.sections, strict=True)
    )
    sections = (_section(section, name) for name, section in zip(names, page.sections, strict=True))
    body = element(
        "body",
        {},
        _LINE,
        element(
            "header",
            {},
            element("h1", {"class": "title"}, page.title),
            element("p", {"class": "lead"}, lead),
            [element("p", {}, sentence) for sentence in further],
        ),
        _LINE,
        element("nav", {"aria-label": "Sections"}, element("ul", {}, links)),
        _LINE,
        element("main", {}, sections),
        _LINE,
    )
    return f'<!doctype html>\n<html lang="en">\n{_head(page.title)}\n{body}\n</html>\n'


def _head(title: str) -> Markup:
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    return element(
        "head",
        {},
        element("meta", {"charset": "utf-8"}),
        element("meta", {"http-equiv": "Content-Security-Policy", "content": policy}),
        element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        element("meta", {"name": "color-scheme", "content": "light dark"}),
        element("link", {"rel": "icon", "href": "data:,"}),
        element("title", {}, title),
        raw_style(_STYLE),
    )


def _names(titles: Sequence[str]) -> list[str]:
    """Returns a name for links a title; titles that are alike are told apart by numbers."""
    names: list[str] = []
    for title in titles:
        plain = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "section"
        name, number = plain, 2
        while name in names:
            name, number = f"{plain}-{number}", number + 1
        names.append(name)
    return names


def _section(section: Section, name: str) -> Markup:
    return _block(
        "section",
        {"id": name, "aria-labelledby": f"{name}-title"},
        element("h2", {"id": f"{name}-title"}, section.title),
        _LINE,
        [_part(part) for part in section.parts],
    )


def _part(part: Part) -> Markup:
    match part:
        case Paragraph():
            made = _block("p", {}, _spans(part.spans)) if any(part.spans) else Markup("")
        case Subheading():
            made = _block("h3", {}, part.text)
        case Bullets():
            items = (element("li", {}, item) for item in part.items)
            made = _block("ul", {"class": "list"}, items) if part.items else Markup("")
        case Facts():
            pairs = (
                (element("dt", {}, name), element("dd", {}, _spans([value])))
                for name, value in part.pairs
            )
            made = _block("dl", {}, pairs)
        case CodeBlock():
            lines = element("code", {}, text(part.text, keep_lines=True))
            made = _boxed("Code", element("pre", {}, lines))
        case Table():
            made = _boxed(part.caption, _table(part))
        case Figure():
            made = _figure(part)
        case Folded():
            inner = (_part(one) for one in part.parts)
            made = _block("details", {}, element("summary", {}, part.summary), inner)
    return made


def _block(name: str, attributes: Attributes, *children: Child) -> Markup:
    return joined([element(name, attributes, *children), _LINE])


def _boxed(about: str, inner: Markup) -> Markup:
    """Returns what may be wider than the window in a box of its own that scrolls, by keys too."""
    attributes = {"class": "box", "role": "region", "tabindex": "0", "aria-label": about}
    return _block("div", attributes, inner)


def _spans(spans: Sequence[Span]) -> Iterator[Markup]:
    for span in spans:
        match span:
            case Code():
                yield element("code", {}, span.text)
            case _:
                yield text(span)


def _table(table: Table) -> Markup:
    kinds = [None if table.holds_words(column) else "figure" for column in range(len(table.header))]
    header = (
        element("th", {"scope": "col", "class": kind}, name)
        for kind, name in zip(kinds, table.header, strict=True)
    )
    return element(
        "table",
        {},
        element("caption", {}, element("span", {}, table.caption)),
        element("thead", {}, element("tr", {}, header)),
        _LINE,
        element("tbody", {}, (_block("tr", {}, _row(row, kinds)) for row in table.rows)),
    )


def _row(row: Row, kinds: Sequence[str | None]) -> Iterator[Markup]:
    if isinstance(row, Group):
        attributes: Attributes = {"scope": "colgroup", "colspan": len(kinds), "class": "group"}
        yield element("th", attributes, row.text)
        return
    yield element("th", {"scope": "row"}, _cell(row[0]))
    for column, (cell, kind) in enumerate(zip(row[1:], kinds[1:], strict=True), 1):
        words = cell if isinstance(cell, str) else cell.text
        after_figures = "figure" in kinds[:column]
        is_long = kind is None and len(words) > (_LONG_AT_THE_END if after_figures else _LONG)
        yield element("td", {"class": "long" if is_long else kind}, _cell(cell))


def _cell(cell: str | Cell) -> Markup:
    if isinstance(cell, str):
        return text(cell)
    parts: list[Markup | str] = [cell.text]
    if cell.small:
        parts += [" ", element("span", {"class": "small"}, cell.small)]
    if cell.mark:
        shown = {"class": f"mark {cell.mark}", "aria-hidden": "true"}
        sign = element("span", shown, SIGNS[cell.mark])
        words = element("span", {"class": "hidden"}, f" {_MARKS_IN_WORDS[cell.mark]}")
        parts += [sign, words]
    return joined(parts)


def _figure(figure: Figure) -> Markup:
    panels = element("div", {"class": "panels"}, [inline(one) for one in figure.drawings])
    return _block("figure", {}, panels, element("figcaption", {}, figure.caption))
