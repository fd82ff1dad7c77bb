"""Our parsers, and the libraries that they come from, timed in turns.

All of one kind have the same weights. Each begins every round anew and in a process of its own, so
that what it keeps of the words it met (spellings, a longer vocabulary) comes from that round alone,
and nobody works in the memory that another one left.
"""

from __future__ import annotations

import gc
import multiprocessing
import statistics
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks.harness import tell
from benchmarks.references import benepar_parse, supar_predict
from benchmarks.stopwatch import Spent, Stopwatch
from treeviews.pipeline.base.watched import keep_memory
from treeviews.pipeline.parsers.chart_model import load_constituency_model
from treeviews.pipeline.parsers.dependency_model import load_dependency_model
from treeviews.pipeline.parsers.sentence_parser import Sentence, load_parser
from treeviews.pipeline.trees.flat_trees import DependencyParse, Parse
from treeviews.pipeline.trees.tree_scores import AttachmentCounts

Sentences = Sequence[Sentence]
Started = tuple[Callable[[Sentences], Any], Callable[[Any], Sequence[Any]]]
"""What is timed, and what turns its result into our trees afterwards."""

EXACT, FAST = "ours, exact", "ours, fast"
SUPAR = "supar predict"
PARSE_SENTS = "benepar parse_sents"


@dataclass(frozen=True, slots=True)
class Contestant:
    """One way to parse."""

    label: str
    start: Callable[[], Started]
    """Loads it anew; known by its name, so that another process can call it."""


def dependency_contestants(path: Path) -> list[Contestant]:
    """Returns supar's own prediction and ours, with the weights of one parser folder."""
    return [
        Contestant(SUPAR, partial(_start_supar, path)),
        *_ours("dependencies", path),
    ]


def constituency_contestants(path: Path, bucket_tokens: Sequence[int]) -> list[Contestant]:
    """Returns benepar's length buckets of these sizes and ours; `parse_sents` stands apart."""
    buckets = [
        Contestant(f"benepar, buckets of {size}", partial(_start_buckets, path, size))
        for size in bucket_tokens
    ]
    return [*buckets, *_ours("constituents", path)]


def parse_sents_contestant(path: Path) -> Contestant:
    """Returns what benepar's users call, which takes minutes."""
    return Contestant(PARSE_SENTS, partial(_start_parse_sents, path))


def _ours(stage: str, path: Path) -> list[Contestant]:
    return [
        Contestant(EXACT, partial(_start_ours, stage, path, "exact")),
        Contestant(FAST, partial(_start_ours, stage, path, "fast")),
    ]


def _start_ours(stage: str, path: Path, precision: str) -> Started:
    return load_parser(path, stage, precision=precision).parse, list[Parse]


def _start_supar(path: Path) -> Started:
    parser = supar_predict.supar_parser(load_dependency_model(path))
    return partial(supar_predict.predict, parser), list[Parse]


def _start_buckets(path: Path, bucket_tokens: int) -> Started:
    parser = benepar_parse.benepar_parser(load_constituency_model(path))

    def trees(outputs: Sequence[Any]) -> list[Parse]:
        return [benepar_parse.from_compressed(parser, output) for output in outputs]

    return partial(benepar_parse.parse_bucketed, parser, bucket_tokens=bucket_tokens), trees


def _start_parse_sents(path: Path) -> Started:
    parser = benepar_parse.benepar_parser(load_constituency_model(path))

    def trees(outputs: Sequence[Any]) -> list[Parse]:
        return [benepar_parse.from_tree(output) for output in outputs]

    return partial(benepar_parse.parse_sents, parser), trees


@dataclass(slots=True)
class Parsed:
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

    def identical(self, other: Parsed) -> float:
        """Returns the share of the sentences both parsed that have the same tree in all parts."""
        same = [ours == theirs for ours, theirs in zip(self.trees, other.trees, strict=False)]
        return same.count(True) / len(same)


def measure(
    contestants: Sequence[Contestant], sentences: Sentences, warm_up: Sentences, rounds: int
) -> dict[str, Parsed]:
    """Returns what each contestant took, by label.

    All take turns in each round, each turn in a process of its own, which keeps its memory as our
    jobs do. CPU time is that of its one thread, which other work on the machine changes little.
    """
    found = {one.label: Parsed(one.label, len(sentences)) for one in contestants}
    # A server that has imported all and done nothing is forked: no turn begins with a used heap.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.parsing_rate"])
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
    counts = AttachmentCounts()
    for tokens, right, tree in zip(sentences, gold, trees, strict=True):
        counts.add(tokens, right, tree)
    return counts.scores()["las"]
