"""Pages as a reader's program takes them: elements, and the text that is shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

EMPTY = frozenset({"meta", "link", "br", "hr", "col"})
UNSHOWN = frozenset({"style", "script"})


@dataclass
class ParsedPage:
    """What a parser finds in a page."""

    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    text: str = ""

    def named(self, name: str) -> list[dict[str, str | None]]:
        """Returns the attributes of each element of a name."""
        return [attributes for one, attributes in self.elements if one == name]


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = ParsedPage()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.page.elements.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> ends nothing"
        opened = self.open.pop()
        assert opened.lower() == tag, f"</{tag}> ends <{opened}>"

    def handle_data(self, data: str) -> None:
        if not UNSHOWN.intersection(self.open):
            self.page.text += data


def parsed(page: str) -> ParsedPage:
    """Returns what is in a page, whose elements must all be ended in order."""
    parser = _Parser()
    parser.feed(page)
    parser.close()
    assert not parser.open, f"not ended: {parser.open}"
    return parser.page
