"""``diff``: how far two parses of the same sentences agree, and which sentences differ most.

Neither parse counts as the right one. The scores are those of `pipeline.trees.tree_scores`, where
the first parse stands in the place of gold trees; its tags tell, of brackets, which
tokens are punctuation.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from operator import itemgetter
from typing import Any

from treeviews.pipeline.base.foreign_text import printable
from treeviews.pipeline.inspect.aligned_rows import Selection, read_rows
from treeviews.pipeline.inspect.check import sound_tree
from treeviews.pipeline.trees.tree_scores import AttachmentCounts, BracketCounts

SCORES = {
    "dependencies": ("uas", "las", "uas_no_punctuation", "las_no_punctuation"),
    "constituents": ("f1", "tag_accuracy"),
}
"""Stages that are compared, with the scores that are told of each."""


def compare(first: Selection, second: Selection, *, most: int) -> list[dict[str, Any]]:
    """Returns how far the parses of each kind agree that both selections have, as JSON has it.

    Scores, in percent, are of the sentences that have a tree in both parses.

    Args:
        first: sentences and their parses; given twice, it stands for the two parses of a kind.
        second: the same sentences with other parses.
        most: how many of the sentences are named that differ in most tokens or brackets.

    Raises:
        ValueError: nothing of one kind to compare, several folders of a kind, no sentences, other
            sentences, or a damaged shard or tree.
    """
    agreements = []
    for stage in SCORES:
        one, other = ([f for f in s.folders if f.stage == stage] for s in (first, second))
        if first == second:
            one, other = one[:1], one[1:]
        if not one or not other:
            continue
        sides = []
        for selection, folders in ((first, one), (second, other)):
            if len(folders) > 1 or selection.sentences is None:
                names = ", ".join(str(folder.path) for folder in folders)
                problem = "no sentences/ beside it; put those that it is of there"
                if len(folders) > 1:
                    problem = f"several folders of {stage}; give two of them"
                raise ValueError(f"{names}: {problem}")
            stages = (selection.sentences, *folders)
            sides.append(Selection(stages, selection.shard, is_one_stage=True))
        agreements.append(_agreement(sides, stage, most))
    if not agreements:
        places = f"{first.folders[-1].path}, {second.folders[-1].path}"
        if first == second:
            places = f"{first.folders[-1].path.parent}: the same parses twice"
        raise ValueError(
            f"{places}: nothing of one kind to compare; give two folders of dependencies, two of "
            "constituents, or two corpora that have them"
        )
    return agreements


def _agreement(sides: Sequence[Selection], stage: str, most: int) -> dict[str, Any]:
    first, second = sides
    counts = AttachmentCounts() if stage == "dependencies" else BracketCounts()
    seen: Counter[str] = Counter()

    def differing() -> Iterator[dict[str, Any]]:
        for one, other in _rows(first, second):
            seen["sentences"] += 1
            gold, predicted = sound_tree(stage, one), sound_tree(stage, other)
            if gold is None or predicted is None:
                continue
            wrong = counts.add(one["tokens"], gold, predicted)
            seen["identical"] += gold == predicted
            if wrong:
                place = {name: one[name] for name in ("shard", "row", "tokens")}
                yield place | {"differences": wrong}

    worst = heapq.nlargest(max(most, 1), differing(), key=itemgetter("differences"))[:most]
    scores = counts.scores()
    return {
        "stage": stage,
        "first": str(first.folders[-1].path),
        "second": str(second.folders[-1].path),
        "sentences": seen["sentences"],
        "compared": counts.sentences,
        "identical": seen["identical"],
        "scores": {name: scores[name] for name in SCORES[stage]},
        "most_different": worst,
    }


def _rows(first: Selection, second: Selection) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yields the rows of the shards that both have."""
    paths = f"{first.folders[-1].path}, {second.folders[-1].path}"
    numbers = sorted({*first.shared_numbers()} & {*second.shared_numbers()})
    if not numbers:
        raise ValueError(f"{paths}: no shard that both have; give two parses of one text")
    for number in numbers:
        rows = read_rows(first, number), read_rows(second, number)
        for one, other in zip_longest(*rows, fillvalue=dict[str, Any]()):
            if one.get("tokens") != other.get("tokens"):
                raise ValueError(
                    f"{paths}: the sentences of shard {number} differ; give two parses of one text"
                )
            yield one, other


def agreement_lines(agreement: dict[str, Any]) -> Iterator[str]:
    """Yields the same as lines for people."""
    stage, sentences = agreement["stage"], agreement["sentences"]
    yield printable(f"{stage}  first: {agreement['first']}, second: {agreement['second']}")
    yield f"  {sentences:,} sentences, {agreement['compared']:,} with both trees, of which "
    yield f"  {agreement['identical']:,} are identical"
    for name, score in agreement["scores"].items():
        yield f"  {name:>18}  {score:.1f} %"
    what = "tokens" if stage == "dependencies" else "brackets"
    for row in agreement["most_different"]:
        text = printable(" ".join(row["tokens"]))
        yield f"  {row['shard']}:{row['row']}  {row['differences']} {what}  {text}"
