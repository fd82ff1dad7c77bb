"""A dependency tree as arcs over the words of a sentence, drawn as SVG.

An arc rises from the head, runs above all shorter arcs under it, and comes down with an arrow on
the dependent. Words stand as far apart as they and the relations between neighbours need.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from pipeline.inspect.drawing.svg import FONT_SIZE, drawing, text_at, text_width
from pipeline.trees.parses import DependencyParse

LABEL_SIZE = 11.0
GAP = 16.0
"""Between two words, at least."""
STEP = 24.0
"""From a level of arcs to the next one."""
MARGIN = 12.0
APART = 4.0
"""From the middle of a word to where an arc ends there, to the arc's own side."""
CORNER = 8.0


def arcs_svg(tokens: Sequence[str], parse: DependencyParse, *, marked: Collection[int] = ()) -> str:
    """Returns the drawing of a valid tree over n tokens.

    Args:
        tokens: length n.
        parse: of these tokens.
        marked: positions of tokens, from 0, whose arcs are drawn as those to be looked at.
    """
    arcs = [
        (min(place, head - 1), max(place, head - 1), place)
        for place, head in enumerate(parse.heads)
        if head
    ]
    levels = _levels(arcs, len(tokens))
    middles, width = _columns(tokens, parse)
    top = max(levels.values(), default=0) + 1
    base = MARGIN + LABEL_SIZE + STEP * top
    parts: list[str] = []
    for place, (token, head, deprel) in enumerate(
        zip(tokens, parse.heads, parse.deprels, strict=True)
    ):
        kind = "arc marked" if place in marked else "arc"
        x = middles[place]
        parts.append(text_at(x, base + FONT_SIZE + 6, token, "word"))
        if head:
            parts += _arc(x, middles[head - 1], base - STEP * levels[place], base, deprel, kind)
        else:
            parts += _root(x, base - STEP * top, base, deprel, kind)
    return drawing(width, base + FONT_SIZE + 6 + MARGIN, parts, "dependency tree")


def _levels(arcs: Sequence[tuple[int, int, int]], num_tokens: int) -> dict[int, int]:
    """Returns dependent -> level of its arc, from 1: above every shorter arc that it passes."""
    highest = [0] * num_tokens  # of the arcs so far, over each place between two words
    levels = {}
    for first, last, dependent in sorted(arcs, key=lambda arc: (arc[1] - arc[0], arc)):
        level = max(highest[first:last]) + 1
        highest[first:last] = [level] * (last - first)
        levels[dependent] = level
    return levels


def _columns(tokens: Sequence[str], parse: DependencyParse) -> tuple[list[float], float]:
    """Returns the middle of each word, and the width of all."""
    halves = [text_width(token) / 2 for token in tokens]
    roots = [
        text_width(deprel, LABEL_SIZE) / 2 if not head else 0.0
        for head, deprel in zip(parse.heads, parse.deprels, strict=True)
    ]
    sides = [max(pair) for pair in zip(halves, roots, strict=True)]
    middles = [MARGIN + sides[0]]
    for left, right in pairwise(range(len(tokens))):
        labels = [
            text_width(parse.deprels[one], LABEL_SIZE)
            for one, other in ((left, right), (right, left))
            if parse.heads[one] == other + 1
        ]
        apart = max([halves[left] + halves[right], *(label + 2 * APART for label in labels)])
        middles.append(middles[-1] + apart + GAP)
    return middles, middles[-1] + sides[-1] + MARGIN


def _arc(x: float, head: float, top: float, base: float, deprel: str, kind: str) -> Iterator[str]:
    """Yields the line from a head down to its dependent at x, the arrow, and the relation."""
    side = 1 if head > x else -1
    end, begin = x + side * APART, head - side * APART
    turn = side * min(CORNER, abs(begin - end) / 2)
    yield (
        f'<path class="{kind}" d="M{begin:.1f} {base:.1f}V{top + CORNER:.1f}'
        f"Q{begin:.1f} {top:.1f} {begin - turn:.1f} {top:.1f}H{end + turn:.1f}"
        f'Q{end:.1f} {top:.1f} {end:.1f} {top + CORNER:.1f}V{base:.1f}"/>'
    )
    yield _arrow(end, base, kind)
    yield text_at((begin + end) / 2, top + LABEL_SIZE / 3, deprel, f"relation {kind}")


def _root(x: float, top: float, base: float, deprel: str, kind: str) -> Iterator[str]:
    yield f'<path class="{kind}" d="M{x:.1f} {top + 4:.1f}V{base:.1f}"/>'
    yield _arrow(x, base, kind)
    yield text_at(x, top, deprel, f"relation {kind}")


def _arrow(x: float, y: float, kind: str) -> str:
    return f'<path class="{kind} tip" d="M{x - 3.5:.1f} {y - 6:.1f}h7l-3.5 7z"/>'
