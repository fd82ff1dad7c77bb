"""What people look at: ``overview``, ``schema``, ``show``, and the page of drawings of ``html``.

The page holds all that it shows: no script, no address; what it may load, its own policy says:
nothing. All text is a corpus' own and is escaped; characters that cannot be seen are written out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treeviews.pipeline.base.atomic_files import write_text_atomically
from treeviews.pipeline.base.foreign_text import printable
from treeviews.pipeline.inspect.aligned_rows import Selection, table_lines
from treeviews.pipeline.inspect.check import TREE_COLUMNS, tree_fault, tree_of
from treeviews.pipeline.shards.manifests import CLEANED, ENCODER_DIGEST, manifest_beside
from treeviews.pipeline.shards.schema import DESCRIBED, EMBEDDING, EMBEDDINGS, SCHEMA_VERSION
from treeviews.pipeline.shards.shards import read_shard
from treeviews.pipeline.trees.flat_trees import ConstituencyParse, DependencyParse, Parse
from treeviews.pipeline.trees.treebanks import to_brackets

if TYPE_CHECKING:
    from nltk.tree import Tree

MAKERS = {"parser": "parser_checksum", "encoder": ENCODER_DIGEST}
"""What a shard's extra facts say of who made it: the name and what tells it from others."""
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
LABEL = 20
"""Pixels above an arc for its relation."""
LETTER = 9
"""Pixels of a wide letter, by which words stand apart."""
LINE_WIDTH = 80
"""Characters of a line of brackets."""


def stage_facts(selection: Selection) -> Iterator[dict[str, Any]]:
    """Yields what the manifests say of every stage of a selection, as JSON; no row is read."""
    for folder in selection.folders:
        numbers = selection.numbers_in(folder)
        manifests = [m for n in numbers if (m := manifest_beside(folder.path, n)) is not None]
        yield {
            "stage": folder.stage,
            "path": str(folder.path),
            "shards": len(manifests),
            "rows": sum(manifest.rows for manifest in manifests),
            "bytes": sum(manifest.bytes for manifest in manifests),
            "seconds": sum(manifest.seconds for manifest in manifests),
            "incomplete": [*folder.gaps()],
            "refused": _total(manifest.drops for manifest in manifests),
            "cleaned": _total(manifest.extra.get(CLEANED, {}) for manifest in manifests),
            "made_by": sorted(
                {
                    f"{manifest.extra[name]} {manifest.extra.get(checksum, '')}"
                    for manifest in manifests
                    for name, checksum in MAKERS.items()
                    if name in manifest.extra
                }
            ),
        }


def _total(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    return dict(sum(map(Counter, counts), Counter[str]()).most_common())


def overview_lines(selection: Selection) -> Iterator[str]:
    """Yields the same as lines for people."""
    for facts in stage_facts(selection):
        rows, shards, seconds = facts["rows"], facts["shards"], facts["seconds"]
        cleaned, rate = _counts(facts["cleaned"]), rows / max(seconds, 1e-9)
        yield f"{facts['stage']}  {printable(facts['path'])}"
        for name, value in (
            ("rows", f"{rows:,} in {shards:,} shard{'s' * (shards != 1)}"),
            ("bytes", f"{facts['bytes']:,} ({facts['bytes'] / max(rows, 1):.1f} a row)"),
            ("seconds", f"{seconds:,.1f} ({rate:,.0f} sentences/s a process)"),
            *(("incomplete", gap) for gap in facts["incomplete"]),
            ("refused", _counts(facts["refused"]) or "none"),
            ("cleaned", cleaned and f"paragraphs changed: {cleaned}"),
            *(("made by", maker) for maker in facts["made_by"]),
        ):
            if value:
                yield f"  {name:>13}  {printable(value)}"
        yield ""


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())


def schema_of(selection: Selection) -> Iterator[dict[str, Any]]:
    """Yields the columns of every stage of a selection, as JSON; no row of trees is read."""
    for folder in selection.folders:
        stage, path = folder
        vectors: Any = "by encoder"
        for number in selection.numbers_in(folder)[:1] if stage == EMBEDDINGS else ():
            vectors = read_shard(path, stage, number).field(EMBEDDING).type
        yield {
            "stage": stage,
            "path": str(path),
            "version": SCHEMA_VERSION,
            "columns": [
                asdict(column) | {"type": str(column.type or vectors)}
                for column in DESCRIBED[stage]
            ],
        }


def schema_lines(selection: Selection) -> Iterator[str]:
    """Yields the same as lines for people."""
    for facts in schema_of(selection):
        yield f"{facts['stage']}  {printable(facts['path'])}  version {facts['version']}"
        for column in facts["columns"]:
            nullable = ", may be null" if column["is_nullable"] else ""
            yield f"  {column['name']}: {column['type']}{nullable}"
            yield f"    {column['meaning']}"
            yield f"    values: {column['values']}"
        yield ""


def sentence_line(row: dict[str, Any]) -> str:
    """Returns where a row stands, its document and its text."""
    text = " ".join(row.get("tokens") or ["(no sentences beside this stage)"])
    place = f"{row['shard']}:{row['row']}"
    document = f"{row.get('document_id', '?')} {row.get('sentence_index', '?')}"
    return printable(f"{place:>7}  {document}  {text}")


def show_lines(row: dict[str, Any]) -> Iterator[str]:
    """Yields a sentence and its trees.

    Args:
        row: with its place, as `row_of` gives it.
    """
    yield sentence_line(row)
    for stage, tree in _trees(row):
        yield f"\n{stage}"
        if isinstance(tree, str):
            yield f"({printable(tree)})"
        elif isinstance(tree, DependencyParse):
            yield from _dependency_lines(row["tokens"], tree)
        else:
            phrases = _phrase_tree(list(map(printable, row["tokens"])), tree)
            yield phrases.pformat(margin=LINE_WIDTH)


def _trees(row: dict[str, Any]) -> Iterator[tuple[str, Parse | str]]:
    """Yields the stages of trees that a row is of, with its tree, or why it has none."""
    for stage, columns in TREE_COLUMNS.items():
        if columns[0] not in row:
            continue
        if fault := tree_fault(stage, row):
            yield stage, f"no tree ({fault[1]}); `inspect check` says more"
        else:
            yield stage, tree_of(stage, row) or "rejected by the parser"


def _phrase_tree(leaves: Sequence[Any], parse: ConstituencyParse) -> Tree:
    """Returns a constituency tree as nltk has it, over any leaves."""
    from nltk.tree import Tree

    numbers = list(map(str, range(len(leaves))))
    return Tree.fromstring(to_brackets(numbers, parse), read_leaf=lambda n: leaves[int(n)])


def _dependency_lines(tokens: Sequence[str], tree: DependencyParse) -> Iterator[str]:
    """Yields a table of the tokens: each with its number, its relation and its head."""
    words = ["", *tokens]
    rows = [
        (number, words[number], deprel, f"{head} {words[head]}" if head else "")
        for number, (head, deprel) in enumerate(zip(tree.heads, tree.deprels, strict=True), 1)
    ]
    return table_lines(("token", "word", "relation", "head"), rows)


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
    drawings = []
    for stage, tree in _trees(row):
        if isinstance(tree, str):
            drawn = f"<p>{stage}: {_text(tree)}</p>"
        elif isinstance(tree, DependencyParse):
            drawn = arcs(tokens, tree, place)
        else:
            drawn = f"<pre>{phrases(tokens, tree)}</pre>"
        drawings.append(f'<div class="scroll">{drawn}</div>')
    return (
        f'<section><h2>{place}</h2><p class="about">{_text(about)}</p>'
        f'<p dir="auto">{_text(" ".join(tokens))}</p>{"".join(drawings)}</section>'
    )


def arcs(tokens: Sequence[str], tree: DependencyParse, place: str) -> str:
    """Returns a dependency tree as arcs over its words, in SVG.

    Args:
        place: names the drawing, of which a page has no other.
    """
    from spacy.displacy.render import DependencyRenderer

    words, names = (list(map(printable, texts)) for texts in (tokens, tree.deprels))
    options = {
        "compact": True,
        "distance": LETTER * (2 + max(map(len, (*words, *names)))),
        "offset_x": LETTER * 8,
        "word_spacing": 24,
        "arrow_spacing": 8,
        "arrow_stroke": 1,
        "font": "sans-serif",
    }
    renderer, nodes, edges = DependencyRenderer(options), [], []
    for token, (word, name, head) in enumerate(zip(words, names, tree.heads, strict=True)):
        nodes.append({"text": word, "tag": "" if head else escape(name)})
        if head:
            start, end = sorted((token, head - 1))
            way = "left" if token < head - 1 else "right"
            edges.append({"start": start, "end": end, "label": escape(name), "dir": way})
    drawn = renderer.render_svg(place, nodes, edges)
    # displaCy leaves room for arcs of three times their height.
    empty = max(renderer.highest_level * renderer.distance // 3 - LABEL, 0)
    return f'<div style="margin-top:-{empty}px">{drawn}</div>'


def phrases(tokens: Sequence[str], parse: ConstituencyParse) -> str:
    """Returns a constituency tree over its words, drawn in lines of text and escaped."""
    from nltk.tree.prettyprinter import TreePrettyPrinter

    words = list(map(printable, tokens))
    drawn = TreePrettyPrinter(_phrase_tree(range(len(words)), parse), words).text(unicodelines=True)
    return escape(printable(drawn, keep_lines=True))
