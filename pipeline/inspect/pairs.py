"""``pairs``: to how many sentences each transformation of syntax applies, and examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.base.foreign_text import printable
from pipeline.inspect.dataset import Selection
from pipeline.inspect.rows import read_rows
from pipeline.transformations.registry import TRANSFORMATIONS
from pipeline.transformations.sentence_tree import SentenceTree

NEEDED = ("sentences", "dependencies", "constituents")


@dataclass(slots=True)
class Applied:
    """What one transformation does to the sentences of a corpus."""

    name: str
    kind: str
    """Whether it makes positives or negatives."""
    sentences: int = 0
    """That it changes."""
    examples: list[dict[str, Any]] = field(default_factory=list)
    """The first of them: ``shard``, ``row``, ``tokens``, ``changed``."""


@dataclass(slots=True)
class AppliedToAll:
    """What transformations do to a corpus."""

    rows: int = 0
    parsed: int = 0
    """Rows with both parses."""
    transformations: list[Applied] = field(default_factory=list)


def pairs_of(
    selection: Selection, *, names: Sequence[str], shard: int | None, num_examples: int
) -> AppliedToAll:
    """Returns how often each transformation applies, and the first sentences that it changes.

    Args:
        names: of transformations.
        shard: the one to look at; None for all that every stage has.

    Raises:
        ValueError: a stage is not there, or has no such shard.
    """
    found = AppliedToAll()
    found.transformations = [Applied(name, TRANSFORMATIONS[name].kind) for name in names]
    for number in _numbers(selection, shard):
        for position, row in enumerate(read_rows(selection, number)):
            found.rows += 1
            tree = SentenceTree.from_row(row)
            if tree is None:
                continue
            found.parsed += 1
            for one in found.transformations:
                changed = TRANSFORMATIONS[one.name].first(tree)
                if changed is None:
                    continue
                one.sentences += 1
                if len(one.examples) < num_examples:
                    pair = {"tokens": list(tree.tokens), "changed": list(changed.tokens)}
                    one.examples.append({"shard": number, "row": position, **pair})
    return found


def pairs_lines(found: AppliedToAll) -> Iterator[str]:
    """Yields the same as lines for people."""
    yield f"{found.parsed:,} of {found.rows:,} sentences have both parses"
    for one in found.transformations:
        share = one.sentences / max(found.parsed, 1)
        yield f"{one.kind} {one.name}: {one.sentences:,} sentences ({share:.1%})"
        for example in one.examples:
            yield _line(f"{example['shard']}:{example['row']}", example["tokens"])
            yield _line("->", example["changed"])


def row_pairs(selection: Selection, *, shard: int, row: int) -> dict[str, Any]:
    """Returns all that the transformations make of one sentence.

    Raises:
        ValueError: a stage is not there, the shard has no such row, or a parser refused it.
    """
    _numbers(selection, shard)
    found = list(read_rows(selection, shard, start=row, count=1)) if row >= 0 else []
    tree = SentenceTree.from_row(found[0]) if found else None
    if tree is None:
        what = "was refused by a parser" if found else "does not exist"
        raise ValueError(f"row {row} of shard {shard} {what}; see its rows with `stats`")
    made = [
        {"name": one.name, "kind": one.kind, "tokens": list(changed.tokens)}
        for one in TRANSFORMATIONS.values()
        for changed in one.results(tree)
    ]
    return {"shard": shard, "row": row, "tokens": list(tree.tokens), "made": made}


def row_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Yields the same as lines for people."""
    yield _line(f"{found['shard']}:{found['row']}", found["tokens"])
    for one in found["made"]:
        yield f"{one['kind']} {one['name']}"
        yield _line("->", one["tokens"])


def _numbers(selection: Selection, shard: int | None) -> list[int]:
    """Returns the shards to look at.

    Raises:
        ValueError: a stage that is needed is not there, or has no such shard.
    """
    found = {folder.stage for folder in selection.folders}
    missing = [stage for stage in NEEDED if stage not in found]
    if missing:
        raise ValueError(
            f"{selection.folders[0].path}: no {' and no '.join(missing)} beside it; give the "
            "folder of a parsed corpus, which holds sentences, dependencies and constituents"
        )
    numbers = selection.shared_numbers()
    if shard is not None and shard not in numbers:
        raise ValueError(f"no shard {shard} that all stages have; they share {numbers}")
    return numbers if shard is None else [shard]


def _line(place: str, tokens: Sequence[str]) -> str:
    return f"{place:>9}  {printable(' '.join(tokens))}"
