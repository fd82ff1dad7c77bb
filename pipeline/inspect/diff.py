"""``diff``: how far two parses of the same sentences agree, and which sentences differ most.

Neither parse counts as the right one. The scores are those of `pipeline.trees.tree_scores`, where
the first parse stands in the place of gold trees; its tags tell, of brackets, which
tokens are punctuation.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from typing import Any

from treeviews.pipeline.base.foreign_text import printable
from treeviews.pipeline.inspect.aligned_rows import read_rows, tree_of
from treeviews.pipeline.inspect.dataset import Selection, StageFolder
from treeviews.pipeline.trees.tree_scores import AttachmentCounts, BracketCounts
from treeviews.pipeline.trees.treebanks import TreebankSentence

SCORES = {
    "dependencies": ("uas", "las", "uas_no_punctuation", "las_no_punctuation"),
    "constituents": ("f1", "tag_accuracy"),
}
"""Stages that are compared, with what is told of each."""


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


def pairs_of_parses(first: Selection, second: Selection) -> list[tuple[Selection, Selection]]:
    """Returns the stages to be compared, with their sentences, of each kind that both have.

    One corpus given twice stands for the two parses of a kind that lie in it.

    Raises:
        ValueError: they have no kind in common, are the same folder, or have no sentences.
    """
    pairs = []
    for stage in SCORES:
        one, other = first.folders_of(stage), second.folders_of(stage)
        if first == second and len(one) == 2:
            one, other = one[:1], one[1:]
        elif first == second and len(first.parses) > 1:
            continue
        if one and other:
            pairs.append((_with_sentences(first, one), _with_sentences(second, other)))
    if not pairs:
        places = f"{first.folders[-1].path}, {second.folders[-1].path}"
        raise ValueError(
            f"{places}: nothing of one kind to compare; give two folders of dependencies, two of "
            "constituents, or two corpora that have them"
        )
    for path, second_path in ((a.folders[-1].path, b.folders[-1].path) for a, b in pairs):
        if path.resolve() == second_path.resolve():
            raise ValueError(f"{path}: the same folder twice; give two parses to compare")
    return pairs


def _with_sentences(selection: Selection, folders: list[StageFolder]) -> Selection:
    if len(folders) > 1:
        names = ", ".join(str(folder.path) for folder in folders)
        raise ValueError(f"several folders of {folders[0].stage}: {names}; give two of them")
    if selection.sentences is None:
        raise ValueError(
            f"{folders[0].path}: no sentences/ beside it; put those that it is of there"
        )
    return Selection((selection.sentences, *folders), selection.shard, is_one_stage=True)


def compare(first: Selection, second: Selection, *, most: int) -> Agreement:
    """Returns how far two parses agree, and the sentences that differ in most.

    Args:
        first: the sentences and one parse of them.
        second: the same with another parse.
        most: how many of the sentences that differ most are kept.

    Raises:
        ValueError: a shard is damaged, the sentences differ, or trees have other tokens than their
            sentence.
    """
    stage = first.folders[-1].stage
    agreement = Agreement(stage, str(first.folders[-1].path), str(second.folders[-1].path))
    counts = AttachmentCounts() if stage == "dependencies" else BracketCounts()
    a_token = "heads" if stage == "dependencies" else "tags"
    worst: list[tuple[int, int, dict[str, Any]]] = []
    for one, other in _rows(first, second):
        agreement.sentences += 1
        gold, predicted = tree_of(stage, one), tree_of(stage, other)
        if gold is None or predicted is None:
            continue
        tokens, place = one["tokens"], {name: one[name] for name in ("shard", "row")}
        if not len(tokens) == len(one[a_token]) == len(other[a_token]):
            raise ValueError(
                f"shard {one['shard']}, row {one['row']}: trees of other tokens than the "
                "sentence's; see `check`"
            )
        if isinstance(counts, BracketCounts):
            wrong = counts.add(gold, predicted)
        else:
            wrong = counts.add(TreebankSentence("", tokens, gold.heads, gold.deprels), predicted)
        agreement.identical += gold == predicted
        row = {**place, "differences": wrong, "tokens": tokens}
        heapq.heappush(worst, (wrong, -agreement.sentences, row))
        if len(worst) > most:
            heapq.heappop(worst)
    agreement.compared = counts.sentences
    scores = asdict(counts.scores())
    agreement.scores = {name: scores[name] for name in SCORES[stage]}
    agreement.most_different = [row for wrong, _, row in sorted(worst, reverse=True) if wrong]
    return agreement


def _rows(first: Selection, second: Selection) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yields the rows of the shards that both have."""
    numbers = sorted({*first.shared_numbers()} & {*second.shared_numbers()})
    if not numbers:
        paths = f"{first.folders[-1].path} and {second.folders[-1].path}"
        raise ValueError(f"no shard that both {paths} have")
    for number in numbers:
        rows = read_rows(first, number), read_rows(second, number)
        for one, other in zip_longest(*rows, fillvalue=dict[str, Any]()):
            if one.get("tokens") != other.get("tokens"):
                raise ValueError(
                    f"{first.folders[0].path}, {second.folders[0].path}: the sentences of shard "
                    f"{number} differ; give two parses of one text"
                )
            yield one, other


def agreement_lines(agreement: Agreement) -> Iterator[str]:
    """Yields the same as lines for people."""
    yield printable(f"{agreement.stage}  first: {agreement.first}, second: {agreement.second}")
    yield f"  {agreement.sentences:,} sentences, {agreement.compared:,} with both trees, of which "
    yield f"  {agreement.identical:,} are identical"
    for name, score in agreement.scores.items():
        yield f"  {name:>18}  {score:.1f} %"
    what = "tokens" if agreement.stage == "dependencies" else "brackets"
    for row in agreement.most_different:
        text = printable(" ".join(row["tokens"]))
        yield f"  {row['shard']}:{row['row']}  {row['differences']} {what}  {text}"
