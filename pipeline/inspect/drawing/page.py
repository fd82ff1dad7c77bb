"""One HTML page of drawn sentences, which holds all that it shows.

It has no script and no address; what it may load, its own policy says: nothing. Light or dark as
the reader's machine is; a drawing wider than the page scrolls by itself and shrinks in print.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.base.atomic_files import write_text_atomically
from pipeline.inspect.drawing.svg import shown

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STYLE = """
:root{color-scheme:light dark;--page:#fff;--ink:#1b1f24;--soft:#5b6470;--line:#8a94a0;
--edge:#d5dae0;--accent:#0b57b7;--mark:#b3261e;--tag:#1f6f43}
@media(prefers-color-scheme:dark){:root{--page:#15181c;--ink:#e8eaed;--soft:#a3abb5;
--line:#7b8591;--edge:#343a42;--accent:#8ab4f8;--mark:#ff9a90;--tag:#7fd3a4}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1rem clamp(.75rem,3vw,2.5rem) 3rem;max-width:120rem;
background:var(--page);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.35rem;margin:.5rem 0}
h2{font-size:1rem;margin:0;font-weight:600}
h1,h2,p,dd,li,td,figcaption{overflow-wrap:anywhere}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;margin:0;
color:var(--soft);font-size:.875rem}
dt{font-weight:600}dd{margin:0}
section{border-top:1px solid var(--edge);padding:1.25rem 0 .5rem;margin-top:1.25rem}
.about{color:var(--soft);font-size:.875rem;margin:0}
.sentence{font-size:1.06rem;margin:.25rem 0 .75rem}
.figures{display:flex;flex-wrap:wrap;gap:.5rem 2rem;align-items:flex-end}
figure{margin:0;max-width:100%;min-width:0}
figcaption{color:var(--soft);font-size:.8125rem}
.scroll{overflow-x:auto;overflow-y:hidden}
.scroll:focus-visible{outline:2px solid var(--accent)}
svg{display:block}
svg text{text-anchor:middle;font:14px system-ui,sans-serif;fill:var(--ink)}
svg .tag{fill:var(--tag);font-size:12px}
svg .label{fill:var(--accent);font-weight:600}
svg .made{font-weight:400;font-style:italic;fill:var(--soft)}
svg .relation{font-size:11px;fill:var(--accent);stroke:var(--page);stroke-width:4px;
paint-order:stroke;stroke-linejoin:round}
svg path{fill:none;stroke:var(--line);stroke-width:1.2}
svg .edge{stroke:var(--line);stroke-width:1}
svg .tip{fill:var(--line);stroke:none}
svg path.marked{stroke:var(--mark);stroke-width:2}
svg .tip.marked{fill:var(--mark);stroke:none}
svg text.marked{fill:var(--mark);font-weight:700}
@media print{:root{--page:#fff;--ink:#000;--soft:#444;--line:#666;--edge:#bbb;--accent:#003c8f;
--mark:#a00;--tag:#00552b}body{padding:0;max-width:none}section,figure{break-inside:avoid}
.scroll{overflow:visible}svg{max-width:100%;height:auto;max-height:90vh}}
"""


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing with what stands below it."""

    caption: str
    svg: str = ""
    """Empty where there is nothing to draw, which the caption then says."""


@dataclass(frozen=True, slots=True)
class DrawnSentence:
    """A sentence and its drawings."""

    place: str
    """Where it stands, such as ``0:7``."""
    about: str
    """Of which document it is, and what else is to be said."""
    tokens: Sequence[str]
    rows: Sequence[Sequence[Figure]]
    """Those of a row stand side by side where there is room."""


def write_page(
    path: Path,
    title: str,
    facts: Iterable[tuple[str, str]],
    sentences: Iterable[DrawnSentence],
) -> None:
    """Writes the page; it appears whole or not at all.

    Args:
        path: of the file.
        title: of the page.
        facts: names and values that stand on top.
        sentences: in their order.

    Raises:
        OSError: it cannot be written.
    """
    write_text_atomically(path, page(title, facts, sentences))


def page(title: str, facts: Iterable[tuple[str, str]], sentences: Iterable[DrawnSentence]) -> str:
    """Returns the page; see `write_page`."""
    told = "".join(f"<dt>{shown(name)}</dt><dd>{shown(value)}</dd>" for name, value in facts)
    body = "\n".join(map(_section, sentences))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f"<title>{shown(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{shown(title)}</h1>\n<dl>{told}</dl>\n{body}\n</body>\n</html>\n"
    )


def _section(sentence: DrawnSentence) -> str:
    text = shown(" ".join(sentence.tokens))
    rows = "".join(
        f'<div class="figures">{"".join(map(_figure, row))}</div>' for row in sentence.rows
    )
    return (
        f"<section><h2>{shown(sentence.place)}</h2>"
        f'<p class="about">{shown(sentence.about)}</p>'
        f'<p class="sentence" dir="auto">{text}</p>{rows}</section>'
    )


def _figure(figure: Figure) -> str:
    caption = f"<figcaption>{shown(figure.caption)}</figcaption>"
    if not figure.svg:
        return f"<figure>{caption}</figure>"
    label = shown(figure.caption)
    box = f'<div class="scroll" tabindex="0" role="group" aria-label="{label}">{figure.svg}</div>'
    return f"<figure>{box}{caption}</figure>"
