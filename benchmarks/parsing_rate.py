"""Times contestants in turns and compares their trees."""

from __future__ import annotations

import gc
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.parsing_contestants import Contestant, Sentences
from benchmarks.report import tell
from benchmarks.stopwatch import Spent, Stopwatch
from pipeline.trees.parses import DependencyParse
from pipeline.trees.tree_scores import score_dependencies
from pipeline.trees.treebanks import TreebankSentence


@dataclass(slots=True)
class Measured:
    """What one contestant took and found."""

    label: str
    num_sentences: int
    times: list[Spent] = field(default_factory=list)
    """What each round took."""
    trees: Sequence[Any] = ()
    """Parses, and rejections of ours, of the last round."""

    @property
    def seconds(self) -> float:
        """CPU seconds of the best round."""
        return min(spent.cpu for spent in self.times)

    @property
    def wall_seconds(self) -> float:
        """Seconds on the clock of the round that was fastest by it."""
        return min(spent.wall for spent in self.times)

    @property
    def median_seconds(self) -> float:
        """CPU seconds of the round in the middle."""
        return statistics.median(spent.cpu for spent in self.times)

    @property
    def rate(self) -> float:
        """Sentences a CPU second in the best round."""
        return self.num_sentences / self.seconds

    def identical(self, other: Measured) -> float:
        """Returns the share of the sentences both parsed that have the same tree in all parts."""
        same = [ours == theirs for ours, theirs in zip(self.trees, other.trees, strict=False)]
        return same.count(True) / len(same)


def measure(
    contestants: Sequence[Contestant], sentences: Sentences, warm_up: Sentences, rounds: int
) -> dict[str, Measured]:
    """Returns what each contestant took, by label.

    All take turns in each round. CPU time is that of this process, which has one thread, so that
    other work on the machine changes it little.
    """
    found = {one.label: Measured(one.label, len(sentences)) for one in contestants}
    for number in range(rounds):
        for contestant in contestants:
            tell(f"round {number + 1} of {rounds}: {contestant.label}")
            parse, to_trees = contestant.start()
            parse(warm_up)
            gc.collect()
            watch = Stopwatch()
            answers = parse(sentences)
            found[contestant.label].times.append(watch.read())
            found[contestant.label].trees = to_trees(answers)
    return found


def las(
    sentences: Sentences, gold: Sequence[DependencyParse], trees: Sequence[DependencyParse]
) -> float:
    """Returns the labelled attachment score in percent, every token counted."""
    treebank = [
        TreebankSentence("", list(tokens), right.heads, right.deprels)
        for tokens, right in zip(sentences, gold, strict=True)
    ]
    return score_dependencies(treebank, trees).las
