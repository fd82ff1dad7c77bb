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

import pyarrow as pa

from treeviews.pipeline.base.atomic_files import write_text_atomically
from treeviews.pipeline.base.foreign_text import printable
from treeviews.pipeline.inspect.aligned_rows import NEEDED_COLUMNS, constituency_of, table_lines
from treeviews.pipeline.inspect.check import parser_failures, row_faults
from treeviews.pipeline.inspect.dataset import Selection
from treeviews.pipeline.shards.manifests import CLEANED, ENCODER_DIGEST, manifest_beside
from treeviews.pipeline.shards.schema import DESCRIBED, SCHEMA_VERSION
from treeviews.pipeline.shards.shards import shard_metadata
from treeviews.pipeline.trees.flat_trees import ConstituencyParse
from treeviews.pipeline.trees.treebanks import to_brackets

if TYPE_CHECKING:
    from nltk.tree import Tree

Facts = dict[str, Any]
"""What is known of a stage, as JSON has it; counts of several things are by name."""
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
LINE_WIDTH = 80
"""Characters of a line of brackets."""


def stage_facts(selection: Selection) -> Iterator[Facts]:
    """Yields what the manifests say of every stage of a selection; no row is read."""
    for folder in selection.folders:
        numbers = selection.numbers_in(folder)
        manifests = [m for n in numbers if (m := manifest_beside(folder.path, n)) is not None]
        incomplete = [*folder.gaps()]
        if len(numbers) > len(manifests):
            incomplete.insert(0, f"{len(numbers) - len(manifests)} shards have no manifest")
        yield {
            "stage": folder.stage,
            "path": str(folder.path),
            "shards": len(manifests),
            "rows": sum(manifest.rows for manifest in manifests),
            "bytes": sum(manifest.bytes for manifest in manifests),
            "seconds": sum(manifest.seconds for manifest in manifests),
            "incomplete": incomplete,
            "refused": _total(manifest.drops for manifest in manifests),
            "failed": parser_failures(folder, manifests),
            "cleaned": _total(manifest.extra.get(CLEANED, {}) for manifest in manifests),
            "made_by": sorted(
                {
                    f"{m.extra[name]} {m.extra.get(checksum, '')}"
                    for name, checksum in (
                        ("parser", "parser_checksum"),
                        ("encoder", ENCODER_DIGEST),
                    )
                    for m in manifests
                    if name in m.extra
                }
            ),
        }


def _total(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for some in counts:
        total.update(some)
    return dict(total.most_common())


def overview_lines(selection: Selection) -> Iterator[str]:
    """Yields the same as lines for people."""
    for facts in stage_facts(selection):
        rows, seconds = facts["rows"], facts["seconds"]
        yield f"{facts['stage']}  {printable(facts['path'])}"
        yield _line("rows", f"{rows:,} in {facts['shards']:,} shard{'s' * (facts['shards'] != 1)}")
        yield _line("bytes", f"{facts['bytes']:,} ({facts['bytes'] / max(rows, 1):.1f} a row)")
        rate = rows / max(seconds, 1e-9)
        yield _line("seconds", f"{seconds:,.1f} ({rate:,.0f} sentences/s a process)")
        for gap in facts["incomplete"]:
            yield _line("incomplete", gap)
        yield _line("refused", _counts(facts["refused"]) or "none")
        if facts["failed"]:
            yield _line("failed", facts["failed"])
        if facts["cleaned"]:
            yield _line("cleaned", f"paragraphs changed: {_counts(facts['cleaned'])}")
        for maker in facts["made_by"]:
            yield _line("made by", maker)
        yield ""


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())


def _line(name: str, value: str) -> str:
    return f"  {name:>13}  {printable(value)}"


def schema_of(selection: Selection) -> Iterator[dict[str, Any]]:
    """Yields the columns of every stage of a selection; reads the files' footers alone."""
    for folder in selection.folders:
        numbers = selection.numbers_in(folder)
        shards = [shard_metadata(folder.path, folder.stage, number) for number in numbers]
        types = {
            column.name: _type_in_words(column.type) for schema, _ in shards for column in schema
        }
        yield {
            "stage": folder.stage,
            "path": str(folder.path),
            "version": SCHEMA_VERSION,
            "shards": len(numbers),
            "rows": sum(metadata.num_rows for _, metadata in shards),
            "row_groups": sum(metadata.num_row_groups for _, metadata in shards),
            "columns": [
                asdict(column) | {"type": types.get(column.name, "")}
                for column in DESCRIBED[folder.stage]
            ],
        }


def _type_in_words(type_: Any) -> str:
    """Returns an Arrow type in few words: ``list of int16``, ``text by dictionary``."""
    if pa.types.is_fixed_size_list(type_):
        return f"{type_.list_size} x {_type_in_words(type_.value_type)}"
    if pa.types.is_list(type_):
        return f"list of {_type_in_words(type_.value_type)}"
    if pa.types.is_dictionary(type_):
        return f"{_type_in_words(type_.value_type)} by dictionary"
    return {"string": "text", "halffloat": "float16", "float": "float32"}.get(
        str(type_), str(type_)
    )


def schema_lines(selection: Selection) -> Iterator[str]:
    """Yields the same as lines for people."""
    for facts in schema_of(selection):
        yield f"{facts['stage']}  {printable(facts['path'])}"
        yield (
            f"  version {facts['version']}, {facts['rows']:,} rows in {facts['shards']:,} shards "
            f"and {facts['row_groups']:,} row groups"
        )
        for column in facts["columns"]:
            nullable = ", may be null" if column["is_nullable"] else ""
            yield f"  {column['name']}: {column['type'] or 'as the files say'}{nullable}"
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
    for stage in _stages_drawn(row):
        yield f"\n{stage}"
        if reason := _no_tree(stage, row):
            yield f"({printable(reason)})"
        elif stage == "dependencies":
            yield from _dependency_lines(row["tokens"], row["heads"], row["deprels"])
        else:
            tree = _phrase_tree(list(map(printable, row["tokens"])), constituency_of(row))
            yield tree.pformat(margin=LINE_WIDTH)


def _stages_drawn(row: dict[str, Any]) -> list[str]:
    return [stage for stage, columns in DRAWN.items() if columns[0] in row]


def _no_tree(stage: str, row: dict[str, Any]) -> str:
    """Returns why a row has no tree of a stage, if it has none."""
    parse = {name: row[name] for name in DRAWN[stage]}
    if all(column is None for column in parse.values()):
        return "rejected by the parser"
    faults = row_faults(stage, parse, len(row["tokens"]))
    return next((f"no tree ({fault}); `inspect check` says more" for _, fault in faults), "")


def _phrase_tree(leaves: Sequence[Any], parse: ConstituencyParse) -> Tree:
    """Returns a constituency tree as nltk has it, over any leaves."""
    from nltk.tree import Tree

    numbers = list(map(str, range(len(leaves))))
    return Tree.fromstring(to_brackets(numbers, parse), read_leaf=lambda n: leaves[int(n)])


def _dependency_lines(
    tokens: Sequence[str], heads: Sequence[int], deprels: Sequence[str]
) -> Iterator[str]:
    """Yields a table of the tokens: each with its number, its relation and its head."""
    words = ["", *tokens]
    rows = [
        (number, token, deprel, f"{head} {words[head]}" if head else "")
        for number, (token, head, deprel) in enumerate(
            zip(tokens, heads, deprels, strict=True), start=1
        )
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
    drawings = [
        f'<div class="scroll">{_drawing(stage, row, place)}</div>' for stage in _stages_drawn(row)
    ]
    return (
        f'<section><h2>{place}</h2><p class="about">{_text(about)}</p>'
        f'<p dir="auto">{_text(" ".join(tokens))}</p>{"".join(drawings)}</section>'
    )


def _drawing(stage: str, row: dict[str, Any], place: str) -> str:
    """Returns a tree of a sentence, or why there is none."""
    if reason := _no_tree(stage, row):
        return f"<p>{stage}: {_text(reason)}</p>"
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
    from nltk.tree.prettyprinter import TreePrettyPrinter

    words = list(map(printable, tokens))
    drawn = TreePrettyPrinter(_phrase_tree(range(len(words)), parse), words).text(unicodelines=True)
    return escape(printable(drawn, keep_lines=True))
