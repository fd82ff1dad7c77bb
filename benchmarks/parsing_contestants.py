"""Who parses in the parsing benchmark: our parsers, and the libraries they come from.

All of one kind have the same weights. Each begins every round anew and in a process of its own, so
that what it keeps of the words it met (spellings, a longer vocabulary) comes from that round alone,
and nobody works in the memory that another one left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.references import benepar_parse, supar_predict
from treeviews.pipeline.parsers.chart_model import load_constituency_model
from treeviews.pipeline.parsers.dependency_model import load_dependency_model
from treeviews.pipeline.parsers.sentence_parser import Sentence, load_parser
from treeviews.pipeline.trees.flat_trees import Parse

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
    parser = supar_predict.supar_parser(load_dependency_model(path)[0])
    return partial(supar_predict.predict, parser), list[Parse]


def _start_buckets(path: Path, bucket_tokens: int) -> Started:
    parser = benepar_parse.benepar_parser(load_constituency_model(path)[0])

    def trees(outputs: Sequence[Any]) -> list[Parse]:
        return [benepar_parse.from_compressed(parser, output) for output in outputs]

    return partial(benepar_parse.parse_bucketed, parser, bucket_tokens=bucket_tokens), trees


def _start_parse_sents(path: Path) -> Started:
    parser = benepar_parse.benepar_parser(load_constituency_model(path)[0])

    def trees(outputs: Sequence[Any]) -> list[Parse]:
        return [benepar_parse.from_tree(output) for output in outputs]

    return partial(benepar_parse.parse_sents, parser), trees
