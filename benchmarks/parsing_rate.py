"""Times contestants in turns and compares their trees."""

from __future__ import annotations

import gc
import multiprocessing
import statistics
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import torch

from benchmarks.parsing_contestants import Contestant, Sentences
from benchmarks.report import tell
from benchmarks.stopwatch import Spent, Stopwatch
from treeviews.pipeline.base.watched import keep_memory
from treeviews.pipeline.trees.flat_trees import DependencyParse
from treeviews.pipeline.trees.tree_scores import score_dependencies
from treeviews.pipeline.trees.treebanks import TreebankSentence


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

    All take turns in each round, each turn in a process of its own, which keeps its memory as our
    jobs do. CPU time is that of its one thread, which other work on the machine changes little.
    """
    found = {one.label: Measured(one.label, len(sentences)) for one in contestants}
    # A server that has imported all and done nothing is forked: no turn begins with a used heap.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.parsing_contestants"])
    for number in range(rounds):
        for contestant in contestants:
            tell(f"round {number + 1} of {rounds}: {contestant.label}")
            with ProcessPoolExecutor(1, context, _begin_process) as process:
                turn = process.submit(_turn, contestant, sentences, warm_up).result()
            found[contestant.label].times.append(turn[0])
            found[contestant.label].trees = turn[1]
    return found


def _begin_process() -> None:
    torch.set_num_threads(1)
    keep_memory()


def _turn(
    contestant: Contestant, sentences: Sentences, warm_up: Sentences
) -> tuple[Spent, Sequence[Any]]:
    """Returns what a contestant took, begun anew and warmed up, and its trees."""
    parse, to_trees = contestant.start()
    parse(warm_up)
    gc.collect()
    watch = Stopwatch()
    answers = parse(sentences)
    return watch.read(), to_trees(answers)


def las(
    sentences: Sentences, gold: Sequence[DependencyParse], trees: Sequence[DependencyParse]
) -> float:
    """Returns the labelled attachment score in percent, every token counted."""
    treebank = [
        TreebankSentence("", list(tokens), right.heads, right.deprels)
        for tokens, right in zip(sentences, gold, strict=True)
    ]
    return score_dependencies(treebank, trees).las
