"""What drawings share: text as SVG has it, and about how wide a browser will set it.

Lengths are in pixels of the drawing.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from html import escape

from pipeline.base.foreign_text import printable

FONT_SIZE = 14.0
_NARROW = frozenset("iIjlft.,;:'!|()[]{}`´‘’ ")
_BROAD = frozenset("mwMW@%—…")


def text_width(text: str, font_size: float = FONT_SIZE) -> float:
    """Returns about how wide a sans-serif font sets a text; rather too much than too little."""
    return font_size * sum(map(_ems, printable(text)))


def _ems(character: str) -> float:
    if character in _NARROW:
        return 0.38
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Cf"):
        return 0.0
    if character in _BROAD or unicodedata.east_asian_width(character) in "WF":
        return 1.05  # emoji are of this kind, too
    return 0.72 if character.isupper() else 0.6


def shown(text: object) -> str:
    """Returns text as markup may hold it: escaped, on one line, nothing in it unseen."""
    return escape(printable(text))


def text_at(x: float, y: float, text: str, kind: str) -> str:
    """Returns a text whose middle is at x, on the base line y.

    Args:
        kind: its class in the page's style.
    """
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{shown(text)}</text>'


def drawing(width: float, height: float, parts: Iterable[str], description: str) -> str:
    """Returns a whole SVG.

    Args:
        parts: its elements.
        description: for whoever has it read aloud.
    """
    return (
        f'<svg role="img" aria-label="{shown(description)}" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">{"".join(parts)}</svg>'
    )
