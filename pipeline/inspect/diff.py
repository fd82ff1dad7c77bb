"""``diff``: how far two parses of the same sentences agree, and which sentences differ most.

Neither parse counts as the right one. The scores are those of `pipeline.trees.tree_scores`, where
the first parse stands in the place of gold trees; its tags tell, of brackets, which
tokens are punctuation.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from treeviews.pipeline.base.foreign_text import printable
from treeviews.pipeline.inspect.aligned_rows import (
    ROWS_AT_ONCE,
    aligned_table,
    check_same_rows,
    constituency_of,
)
from treeviews.pipeline.inspect.dataset import Selection, StageFolder
from treeviews.pipeline.shards.schema import COLUMNS
from treeviews.pipeline.trees.flat_trees import DependencyParse
from treeviews.pipeline.trees.tree_scores import AttachmentCounts, BracketCounts
from treeviews.pipeline.trees.treebanks import TreebankSentence

KINDS = {"dependencies": ("heads", "deprels"), "constituents": ("tags", "span_labels")}
"""Stages that are compared, each with columns of a value a token and of labels."""
SCORES = {
    "dependencies": ("uas", "las", "uas_no_punctuation", "las_no_punctuation"),
    "constituents": ("f1", "tag_accuracy"),
}


_Row = dict[str, Any]


class TwoParses(NamedTuple):
    """Two stages of one kind, and the sentences that both are parses of."""

    stage: str
    sentences: StageFolder
    first: StageFolder
    second: StageFolder
    numbers: list[int]
    """Shards that both have."""


@dataclass(slots=True)
class Agreement:
    """How far two parses agree; scores are of the sentences that have a tree in both."""

    stage: str
    first: str
    second: str
    sentences: int = 0
    compared: int = 0
    identical: int = 0
    scores: dict[str, float] = field(default_factory=dict)
    """In percent."""
    most_different: list[dict[str, Any]] = field(default_factory=list)
    """``shard``, ``row``, ``differences`` (tokens or brackets), ``tokens``."""


def pairs_of_parses(first: Selection, second: Selection) -> list[TwoParses]:
    """Returns the stages to be compared, of each kind that both have.

    One corpus given twice stands for the two parses of a kind that lie in it.

    Raises:
        ValueError: they have no kind in common, are the same folder, or of different sentences.
    """
    pairs = []
    for stage in KINDS:
        one, other = first.folders_of(stage), second.folders_of(stage)
        if first == second and len(one) == 2:
            one, other = one[:1], one[1:]
        elif first == second and len(first.parses) > 1:
            continue
        if one and other:
            pairs.append(_pair(first, second, one, other))
    if not pairs:
        places = f"{first.folders[-1].path}, {second.folders[-1].path}"
        raise ValueError(
            f"{places}: nothing of one kind to compare; give two folders of dependencies, two of "
            "constituents, or two corpora that have them"
        )
    return pairs


def _pair(
    first: Selection, second: Selection, one: list[StageFolder], other: list[StageFolder]
) -> TwoParses:
    for found in (one, other):
        if len(found) > 1:
            names = ", ".join(str(folder.path) for folder in found)
            raise ValueError(f"several folders of {found[0].stage}: {names}; give two of them")
    a, b = one[0], other[0]
    if a.path.resolve() == b.path.resolve():
        raise ValueError(f"{a.path}: the same folder twice; give two parses to compare")
    if first.sentences is None or second.sentences is None:
        lacking = a.path if first.sentences is None else b.path
        raise ValueError(f"{lacking}: no sentences/ beside it; put those that it is of there")
    numbers = sorted(set(first.numbers_in(a)) & set(second.numbers_in(b)))
    if not numbers:
        raise ValueError(f"no shard that both {a.path} and {b.path} have")
    if first.sentences.path.resolve() != second.sentences.path.resolve():
        for number in numbers:
            folders = (first.sentences, second.sentences)
            tables = [aligned_table([folder], number, ["tokens"]) for folder in folders]
            if not tables[0].equals(tables[1]):
                raise ValueError(
                    f"{first.sentences.path}, {second.sentences.path}: the sentences of shard "
                    f"{number} differ; give two parses of one text"
                )
    return TwoParses(a.stage, first.sentences, a, b, numbers)


def compare(parses: TwoParses, *, most: int) -> Agreement:
    """Returns how far two parses agree, and the sentences that differ in most.

    Args:
        parses: of the same sentences.
        most: how many of the sentences that differ most are kept.

    Raises:
        ValueError: a shard is damaged, or trees have other tokens than their sentence.
    """
    found = Agreement(parses.stage, str(parses.first.path), str(parses.second.path))
    counts = AttachmentCounts() if parses.stage == "dependencies" else BracketCounts()
    worst: list[tuple[int, int, dict[str, Any]]] = []
    column = KINDS[parses.stage][0]
    for place, tokens, first, second in _rows(parses):
        found.sentences += 1
        if first[column] is None or second[column] is None:
            continue
        if not len(tokens) == len(first[column]) == len(second[column]):
            raise ValueError(f"{place}: trees of other tokens than the sentence's; see `check`")
        if isinstance(counts, BracketCounts):
            wrong = counts.add(constituency_of(first), constituency_of(second))
        else:
            gold = TreebankSentence("", tokens, first["heads"], first["deprels"])
            wrong = counts.add(gold, DependencyParse(second["heads"], second["deprels"]))
        found.identical += first == second
        told = {**place, "differences": wrong, "tokens": tokens}
        heapq.heappush(worst, (wrong, -found.sentences, told))
        if len(worst) > most:
            heapq.heappop(worst)
    found.compared = counts.sentences
    scores = asdict(counts.scores())
    found.scores = {name: scores[name] for name in SCORES[parses.stage]}
    found.most_different = [told for wrong, _, told in sorted(worst, reverse=True) if wrong]
    return found


def _rows(parses: TwoParses) -> Iterator[tuple[dict[str, int], list[str], _Row, _Row]]:
    """Yields where a sentence stands, its tokens, and its columns in either parse."""
    columns = list(COLUMNS[parses.stage])
    for number in parses.numbers:
        check_same_rows((parses.sentences, parses.first, parses.second), number)
        tables = [aligned_table([parses.sentences], number, ["tokens"])]
        tables += [aligned_table([f], number, columns) for f in (parses.first, parses.second)]
        for start in range(0, tables[0].num_rows, ROWS_AT_ONCE):
            some = [table.slice(start, ROWS_AT_ONCE).to_pylist() for table in tables]
            for row, (sentence, first, second) in enumerate(zip(*some, strict=True), start):
                yield {"shard": number, "row": row}, sentence["tokens"], first, second


def agreement_lines(found: Agreement) -> Iterator[str]:
    """Yields the same as lines for people."""
    yield printable(f"{found.stage}  first: {found.first}, second: {found.second}")
    yield f"  {found.sentences:,} sentences, {found.compared:,} with both trees, of which "
    yield f"  {found.identical:,} are identical"
    for name, score in found.scores.items():
        yield f"  {name:>18}  {score:.1f} %"
    what = "tokens" if found.stage == "dependencies" else "brackets"
    for one in found.most_different:
        text = printable(" ".join(one["tokens"]))
        yield f"  {one['shard']}:{one['row']}  {one['differences']} {what}  {text}"
