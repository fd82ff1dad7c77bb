"""Times contestants in turns and compares their trees."""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.parsing_contestants import Contestant, Sentences
from pipeline.trees.parses import DependencyParse
from pipeline.trees.tree_scores import score_dependencies
from pipeline.trees.treebanks import TreebankSentence


@dataclass(slots=True)
class Measured:
    """What one contestant took and found."""

    label: str
    num_sentences: int
    times: list[float] = field(default_factory=list)
    """CPU seconds of each round."""
    trees: Sequence[Any] = ()
    """Parses, and rejections of ours, of the last round."""

    @property
    def seconds(self) -> float:
        """CPU seconds of the best round."""
        return min(self.times)

    @property
    def median_seconds(self) -> float:
        """CPU seconds of the round in the middle."""
        return statistics.median(self.times)

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
            print(f"round {number + 1} of {rounds}: {contestant.label}", file=sys.stderr)
            parse, to_trees = contestant.start()
            parse(warm_up)
            gc.collect()
            started = time.process_time()
            answers = parse(sentences)
            found[contestant.label].times.append(time.process_time() - started)
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
