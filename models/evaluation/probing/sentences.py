"""Held-out sentences with their parses, as the label rules read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from models.corpus.held_out import HoldOut
from models.evaluation.probing.alterations.plan import Alteration, read_plan
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


@dataclass(slots=True)
class HeldOutPart:
    """The held-out rows of one dataset: those with both parses, and the addresses of all."""

    parsed: list[ParsedSentence] = field(default_factory=list)
    addresses: list[RowAddress] = field(default_factory=list)

    @property
    def num_without_parse(self) -> int:
        """Rows that a parser could not take."""
        return len(self.addresses) - len(self.parsed)


def read_held_out(
    corpus: ParsedFolders, altered: ParsedFolders, config: ProbingConfig
) -> tuple[HeldOutPart, HeldOutPart]:
    """Returns the held-out sentences of a parsed corpus, and all of its altered ones.

    A row that a parser could not take has an address but no parsed sentence, so the numbering of
    embeddings does not depend on the parsers. Those of the corpus come first. An altered sentence
    keeps the place in the text that it was made from.

    Args:
        corpus: the parsed corpus.
        altered: the parsed output of ``make_altered_sentences``.

    Raises:
        FileNotFoundError: a stage is not complete.
        ValueError: the stages do not have the same rows, or the altered sentences were made from
            other held-out sentences.
    """
    plan = read_plan(altered.sentences)
    intact, changed = HeldOutPart(), HeldOutPart()
    places: dict[int, HeldOutRow] = {}
    for row, parse in _parses(corpus, config.hold_out, config.max_sentences):
        places[row.dataset_row] = row
        if parse is not None:
            sentence = _sentence(len(intact.addresses), row, row.tokens, parse)
            intact_in = plan.intact_in.get(row.dataset_row, frozenset())
            intact.parsed.append(replace(sentence, intact_in=intact_in))
        intact.addresses.append(RowAddress("corpus", row.dataset_row, _unit_of(row, config)))
    for row, parse in _parses(altered, HoldOut(fraction=1.0), None):
        alteration = plan.alterations[row.dataset_row]
        place = _place_of(alteration, places, altered)
        if parse is not None:
            number = len(intact.addresses) + len(changed.addresses)
            sentence = _sentence(number, place, row.tokens, parse)
            changed.parsed.append(replace(sentence, alteration=alteration.kind))
        changed.addresses.append(RowAddress("altered", row.dataset_row, _unit_of(place, config)))
    return intact, changed


def _place_of(
    alteration: Alteration, places: Mapping[int, HeldOutRow], altered: ParsedFolders
) -> HeldOutRow:
    if alteration.corpus_row not in places:
        raise ValueError(
            f"{altered.sentences}: made from row {alteration.corpus_row} of the corpus, which is "
            "not held out; alter the sentences again"
        )
    return places[alteration.corpus_row]


_Parse = tuple[tuple[Any, ...], ...]
"""Heads, relations, starts, ends, labels and tags of one sentence."""


def _parses(
    folders: ParsedFolders, hold_out: HoldOut, limit: int | None
) -> Iterator[tuple[HeldOutRow, _Parse | None]]:
    rows = held_out_rows(folders.sentences, hold_out, limit=limit)
    for shard, in_shard in groupby(rows, key=lambda row: row.shard):
        held_out = list(in_shard)
        positions = [row.position for row in held_out]
        dependencies, constituents = (
            read_rows(folders.sentences, getattr(folders, stage), stage, shard, positions)
            for stage in ("dependencies", "constituents")
        )
        for row, *parses in zip(held_out, dependencies, constituents, strict=True):
            parse = (*parses[0], *parses[1])
            yield row, None if None in parse else parse


def _sentence(
    number: int, place: HeldOutRow, tokens: tuple[str, ...], parse: _Parse
) -> ParsedSentence:
    heads, deprels, starts, ends, labels, tags = parse
    return ParsedSentence(
        row=number,
        document_id=place.document_id,
        sentence_index=place.sentence_index,
        tokens=tokens,
        heads=heads,
        deprels=deprels,
        starts=starts,
        ends=ends,
        labels=labels,
        tags=tags,
    )


def _unit_of(place: HeldOutRow, config: ProbingConfig) -> str:
    return config.hold_out.unit_of(place.document_id, place.sentence_index)
