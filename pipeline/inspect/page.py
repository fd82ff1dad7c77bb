"""``html``: one page of drawn sentences: arcs by displaCy, trees of phrases by nltk.

The page holds all that it shows: no script, no address; what it may load, its own policy says:
nothing. All text is a corpus' own and is escaped; characters that cannot be seen are written out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from pipeline.base.atomic_files import write_text_atomically
from pipeline.base.foreign_text import printable
from pipeline.inspect.row_checks import row_faults
from pipeline.inspect.rows import NEEDED_COLUMNS, constituency_of
from pipeline.trees.flat_trees import ConstituencyParse
from pipeline.trees.treebanks import to_brackets

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STYLE = """
body{margin:1rem 2rem;font:16px/1.5 system-ui,sans-serif;color:#1b1f24;background:#fff}
h1{font-size:1.35rem}h2{font-size:1rem;margin-bottom:0}
section{border-top:1px solid #d5dae0}
.about{color:#5b6470;font-size:.875rem;margin:0}
.scroll{overflow-x:auto}
pre{font:13px/1.15 ui-monospace,monospace}
@media print{section{break-inside:avoid}.scroll{overflow:visible}svg{max-width:100%;height:auto}}
"""
DRAWN = {stage: NEEDED_COLUMNS[stage] for stage in ("dependencies", "constituents")}
"""Stages whose trees are drawn, with the columns that these are in."""
LABEL = 20
"""Pixels above an arc for its relation."""
LETTER = 9
"""Pixels of a wide letter, by which words stand apart."""


def write_page(path: Path, title: str, rows: Iterable[dict[str, Any]]) -> None:
    """Writes the page; it appears whole or not at all.

    Args:
        path: of the file; one that is there is written anew.
        title: of the page.
        rows: sentences with their trees, their ``shard`` and their ``row``.
    """
    body = "\n".join(map(_section, rows))
    page = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f"<title>{_text(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{_text(title)}</h1>\n{body}\n</body>\n</html>\n"
    )
    write_text_atomically(path, page)


def _text(text: object) -> str:
    """Returns text as markup may hold it: escaped, on one line, nothing in it unseen."""
    return escape(printable(text))


def _section(row: dict[str, Any]) -> str:
    tokens, place = row["tokens"], f"{row['shard']}:{row['row']}"
    about = f"{row['document_id']}, sentence {row['sentence_index']}, {len(tokens)} tokens"
    drawings = [
        f'<div class="scroll">{_drawing(stage, row, place)}</div>'
        for stage, columns in DRAWN.items()
        if columns[0] in row
    ]
    return (
        f'<section><h2>{place}</h2><p class="about">{_text(about)}</p>'
        f'<p dir="auto">{_text(" ".join(tokens))}</p>{"".join(drawings)}</section>'
    )


def _drawing(stage: str, row: dict[str, Any], place: str) -> str:
    """Returns a tree of a sentence, or why there is none."""
    parse = {name: row[name] for name in DRAWN[stage]}
    if all(column is None for column in parse.values()):
        return f"<p>{stage}: rejected by the parser</p>"
    for _, problem in row_faults(stage, parse, len(row["tokens"])):
        return f"<p>{stage}: no tree ({_text(problem)}); `inspect check` says more</p>"
    if stage == "dependencies":
        return arcs(row["tokens"], row["heads"], row["deprels"], place)
    return f"<pre>{phrases(row['tokens'], constituency_of(row))}</pre>"


def arcs(tokens: Sequence[str], heads: Sequence[int], deprels: Sequence[str], place: str) -> str:
    """Returns a dependency tree as arcs over its words, in SVG.

    Args:
        place: names the drawing, of which a page has no other.
    """
    from spacy.displacy.render import DependencyRenderer

    words = [printable(token) for token in tokens]
    names = [printable(relation) for relation in deprels]
    options = {
        "compact": True,
        "distance": LETTER * (2 + max(map(len, (*words, *names)))),
        "offset_x": LETTER * 8,
        "word_spacing": 24,
        "arrow_spacing": 8,
        "arrow_stroke": 1,
        "font": "sans-serif",
    }
    roots = [escape(name) if not head else "" for name, head in zip(names, heads, strict=True)]
    renderer = DependencyRenderer(options)
    drawn = renderer.render_svg(
        place,
        [{"text": word, "tag": root} for word, root in zip(words, roots, strict=True)],
        [
            {
                "start": min(token, head - 1),
                "end": max(token, head - 1),
                "label": escape(names[token]),
                "dir": "left" if token < head - 1 else "right",
            }
            for token, head in enumerate(heads)
            if head
        ],
    )
    # displaCy leaves room for arcs of three times their height.
    empty = max(renderer.highest_level * renderer.distance // 3 - LABEL, 0)
    return f'<div style="margin-top:-{empty}px">{drawn}</div>'


def phrases(tokens: Sequence[str], parse: ConstituencyParse) -> str:
    """Returns a constituency tree over its words, drawn in lines of text and escaped."""
    from nltk.tree import Tree
    from nltk.tree.prettyprinter import TreePrettyPrinter

    numbers = list(map(str, range(len(tokens))))
    tree = Tree.fromstring(to_brackets(numbers, parse), read_leaf=int)
    words = [printable(token) for token in tokens]
    drawn = TreePrettyPrinter(tree, words).text(unicodelines=True)
    return escape(printable(drawn, keep_lines=True))
