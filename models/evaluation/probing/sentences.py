"""Held-out sentences with their parses, as the label rules read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from models.evaluation.probing.alterations.plan import Plan, read_plan
from models.evaluation.probing.config import ProbingConfig
from models.evaluation.probing.held_out_rows import HeldOutRow, held_out_rows, read_rows


@dataclass(frozen=True, slots=True)
class ParsedFolders:
    """The three stages of one parsed corpus: same shards, same rows."""

    sentences: Path
    dependencies: Path
    constituents: Path


@dataclass(frozen=True, slots=True)
class RowAddress:
    """Where an embedding's sentence stands."""

    part: str
    """``corpus`` or ``altered``."""
    dataset_row: int
    """Row of that dataset, counted over its shards."""
    unit: str
    """The document, or the held-out block of it, that the sentence belongs to."""


@dataclass(frozen=True, slots=True)
class ParsedSentence:
    """One held-out sentence of n tokens with both parses (fields as in ``pipeline.schema``)."""

    row: int
    """Index of its embedding."""
    document_id: str
    sentence_index: int
    tokens: tuple[str, ...]
    heads: tuple[int, ...]
    deprels: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    labels: tuple[str, ...]
    tags: tuple[str, ...]
    alteration: str = ""
    """Kind of its alteration, which is the name of a task; empty for a sentence of the corpus."""
    intact_in: frozenset[str] = frozenset()
    """Tasks in which a sentence of the corpus is of the class that was not altered."""


@dataclass(frozen=True, slots=True)
class HeldOutPart:
    """The held-out rows of one dataset: those with both parses, and the addresses of all."""

    parsed: tuple[ParsedSentence, ...]
    addresses: tuple[RowAddress, ...]

    @property
    def num_without_parse(self) -> int:
        """Rows that a parser could not take."""
        return len(self.addresses) - len(self.parsed)


def read_held_out(
    corpus: ParsedFolders, altered: ParsedFolders, config: ProbingConfig
) -> tuple[HeldOutPart, HeldOutPart]:
    """Returns the held-out sentences of a parsed corpus, and all of its altered ones.

    A row that a parser could not take has an address but no parsed sentence, so the numbering of
    embeddings does not depend on the parsers. Those of the corpus come first.

    Args:
        corpus: the parsed corpus.
        altered: the parsed output of ``make_altered_sentences``.

    Raises:
        FileNotFoundError: a stage is not complete.
        ValueError: the stages do not have the same rows.
    """
    plan = read_plan(altered.sentences)
    intact = _read_part(corpus, "corpus", plan, config, first_row=0)
    return intact, _read_part(altered, "altered", plan, config, first_row=len(intact.addresses))


def _read_part(
    folders: ParsedFolders, part: str, plan: Plan, config: ProbingConfig, *, first_row: int
) -> HeldOutPart:
    parsed: list[ParsedSentence] = []
    addresses: list[RowAddress] = []
    limit = config.max_sentences if part == "corpus" else None
    for row, (heads, deprels), (starts, ends, labels, tags) in _parses(folders, config, limit):
        if heads is not None and tags is not None:
            alteration, intact_in = _roles(plan, part, row.dataset_row)
            parsed.append(
                ParsedSentence(
                    row=first_row + len(addresses),
                    document_id=row.document_id,
                    sentence_index=row.sentence_index,
                    tokens=row.tokens,
                    heads=heads,
                    deprels=deprels,
                    starts=starts,
                    ends=ends,
                    labels=labels,
                    tags=tags,
                    alteration=alteration,
                    intact_in=intact_in,
                )
            )
        unit = config.hold_out.unit_of(row.document_id, row.sentence_index)
        addresses.append(RowAddress(part, row.dataset_row, unit))
    return HeldOutPart(tuple(parsed), tuple(addresses))


def _parses(
    folders: ParsedFolders, config: ProbingConfig, limit: int | None
) -> Iterator[tuple[HeldOutRow, tuple[Any, ...], tuple[Any, ...]]]:
    rows = held_out_rows(folders.sentences, config.hold_out, limit=limit)
    for shard, in_shard in groupby(rows, key=lambda row: row.shard):
        held_out = list(in_shard)
        positions = [row.position for row in held_out]
        dependencies, constituents = (
            read_rows(folders.sentences, getattr(folders, stage), stage, shard, positions)
            for stage in ("dependencies", "constituents")
        )
        yield from zip(held_out, dependencies, constituents, strict=True)


def _roles(plan: Plan, part: str, dataset_row: int) -> tuple[str, frozenset[str]]:
    if part == "corpus":
        return "", plan.intact_in.get(dataset_row, frozenset())
    return plan.kind_of[dataset_row], frozenset()
