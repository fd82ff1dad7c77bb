"""Markup from text: the one place where text that others wrote becomes HTML or SVG.

Whatever is no `Markup` is text, and is escaped: tags, quotes and control characters of a sentence,
a label or a file name show as themselves.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping

from pipeline.base.foreign_text import printable

_EMPTY = frozenset({"meta", "link", "br", "hr", "col"})
"""Elements that HTML knows without an end."""


class Markup(str):
    """Markup that is whole and safe; only the functions of this file make any."""

    __slots__ = ()


Child = Markup | str | int | float | None | Iterable["Child"]
"""What stands in an element; None is nothing."""
Attributes = Mapping[str, str | int | float | None]
"""By name; None leaves one out."""


def text(value: object, *, keep_lines: bool = False) -> Markup:
    """Returns text as it is to be read, whatever signs it holds.

    Args:
        value: shown as `printable` shows it.
        keep_lines: leaves line ends and tabs as they are.
    """
    return Markup(html.escape(printable(value, keep_lines=keep_lines)))


def element(name: str, attributes: Attributes | None = None, *children: Child) -> Markup:
    """Returns an element of HTML or SVG.

    Args:
        name: of ours, never of others.
        attributes: values are escaped, names are not.
        children: markup, or text to be escaped.
    """
    said = "".join(
        f' {key}="{_number(value) if isinstance(value, float) else text(value)}"'
        for key, value in (attributes or {}).items()
        if value is not None
    )
    if name in _EMPTY:
        return Markup(f"<{name}{said}>")
    return Markup(f"<{name}{said}>{joined(children)}</{name}>")


def joined(children: Child) -> Markup:
    """Returns children one after another, text among them escaped."""
    if children is None:
        return Markup("")
    if isinstance(children, Markup):
        return children
    if isinstance(children, str | int | float):
        return text(children)
    return Markup("".join(joined(child) for child in children))


def raw_style(style: str) -> Markup:
    """Returns our own style sheet as an element.

    Raises:
        ValueError: it would end the element.
    """
    if "</" in style:
        raise ValueError("a style sheet may not hold an end tag")
    return Markup(f"<style>{style}</style>")


def _number(value: float) -> str:
    """Returns a coordinate with two decimals at most: nobody sees more, and all platforms agree."""
    said = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if said == "-0" else said
