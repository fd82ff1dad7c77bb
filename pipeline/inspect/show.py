"""``show``: a sentence, its trees drawn; and the first sentences of an ``overview``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pipeline.base.foreign_text import printable
from pipeline.inspect.dataset import Selection
from pipeline.inspect.rows import constituency_of, read_rows
from pipeline.trees.flat_trees import ConstituencyParse, children_of


def draw(root: int, label: Callable[[int], str], children: Callable[[int], Sequence[int]]) -> str:
    """Returns a tree as lines joined by line ends.

    Args:
        root: the root's number.
        label: what to write for a node.
        children: a node's children, in order.
    """
    lines = [label(root)]
    stack = _with_prefixes(children(root), "")
    while stack:
        node, own, below = stack.pop()
        lines.append(own + label(node))
        stack.extend(_with_prefixes(children(node), below))
    return "\n".join(lines)


def _with_prefixes(nodes: Sequence[int], prefix: str) -> list[tuple[int, str, str]]:
    """Returns (node, its line's prefix, the prefix below it), the first node last."""
    rows = [(node, f"{prefix}├── ", f"{prefix}│   ") for node in nodes[:-1]]
    rows += [(node, f"{prefix}└── ", f"{prefix}    ") for node in nodes[-1:]]
    return rows[::-1]


def draw_dependencies(tokens: Sequence[str], heads: Sequence[int], deprels: Sequence[str]) -> str:
    """Returns a dependency tree: each word with its position and its relation to its head."""
    dependents: list[list[int]] = [[] for _ in range(len(tokens) + 1)]
    for token, head in enumerate(heads, start=1):
        dependents[head].append(token)

    def label(token: int) -> str:
        return f"{tokens[token - 1]}  {token} {deprels[token - 1]}"

    return "\n".join(draw(root, label, dependents.__getitem__) for root in dependents[0])


def draw_constituents(tokens: Sequence[str], parse: ConstituencyParse) -> str:
    """Returns a constituency tree: labels of phrases, and tags with their words as leaves."""
    leaves = [f"{tag} {word}" for tag, word in zip(parse.tags, tokens, strict=True)]
    children = children_of(parse)
    return draw(
        0,
        lambda node: parse.labels[node] if node >= 0 else leaves[-1 - node],
        lambda node: children[node] if node >= 0 else [],
    )


def sentence_line(row: dict[str, Any]) -> str:
    """Returns where a row stands, its document and its text."""
    row = _printable(row)
    text = " ".join(row.get("tokens") or ["(no sentences beside this stage)"])
    place = f"{row['shard']}:{row['row']}"
    return f"{place:>7}  {row.get('document_id', '?')} {row.get('sentence_index', '?')}  {text}"


def show_lines(row: dict[str, Any]) -> Iterator[str]:
    """Yields a sentence and its trees.

    Args:
        row: with its place, as `row_of` gives it.
    """
    values = _printable(row)
    tokens = values["tokens"]
    yield sentence_line(row)
    if "heads" in values:
        yield "\ndependencies"
        if values["heads"] is None:
            yield "(rejected by the parser)"
        else:
            yield draw_dependencies(tokens, values["heads"], values["deprels"])
    if "span_starts" in values:
        yield "\nconstituents"
        if values["span_starts"] is None:
            yield "(rejected by the parser)"
        else:
            yield draw_constituents(tokens, constituency_of(values))


def first_rows(selection: Selection, num_rows: int) -> Iterator[dict[str, Any]]:
    """Yields the first rows with their parses and places, as they are in the shards."""
    left = num_rows
    for number in selection.shared_numbers():
        rows = list(read_rows(selection, number, count=left)) if left > 0 else []
        left -= len(rows)
        for position, row in enumerate(rows):
            yield {"shard": number, "row": position, **row}


def row_of(selection: Selection, shard: int, row: int) -> dict[str, Any]:
    """Returns one sentence with its trees and its place, as it is in the shards.

    Raises:
        ValueError: the shard has no such row, or the sentences are not beside the parses.
    """
    if selection.sentences is None:
        raise ValueError(
            f"{selection.folders[0].path}: no sentences beside it; give a corpus that has both"
        )
    if shard not in (known := selection.shared_numbers()):
        raise ValueError(f"no shard {shard} that all stages have; they share {known}")
    found = list(read_rows(selection, shard, start=row, count=1)) if row >= 0 else []
    if not found:
        raise ValueError(f"shard {shard} has no row {row}; `overview` says how many there are")
    return {"shard": shard, "row": row, **found[0]}


def _printable(value: Any) -> Any:
    """Returns a row or a column's value whose words and names forge no line, move no cursor."""
    if isinstance(value, dict):
        return {name: _printable(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_printable(inner) for inner in value]
    return printable(value) if isinstance(value, str) else value
