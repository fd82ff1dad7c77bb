"""Held-out sentences with their parses, as the label rules read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from models.config.held_out import HoldOut
from models.evaluation.derived.alterations.plan import Alteration, read_plan
from models.evaluation.derived.held_out.config import ProbingConfig
from models.evaluation.derived.held_out.held_out_rows import HeldOutRow, held_out_rows, read_rows


@dataclass(frozen=True, slots=True)
class ParsedFolders:
    """The three stages of one parsed corpus: same shards, same rows."""

    sentences: Path
    dependencies: Path
    constituents: Path


@dataclass(frozen=True, slots=True)
class ParsedSentence:
    """One held-out sentence of n tokens with both parses (fields as in the shards' schema)."""

    row: int
    """Its number among the held-out sentences of the corpus, then the altered ones."""
    document_id: str
    sentence_index: int
    tokens: tuple[str, ...]
    heads: tuple[int, ...]
    deprels: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    labels: tuple[str, ...]
    tags: tuple[str, ...]
    binary_left: tuple[int, ...] = ()
    binary_right: tuple[int, ...] = ()
    dataset_row: int = 0
    """Its row in the corpus or among the altered sentences, counted over the shards."""
    unit: str = ""
    """The document, or the held-out block of it, that it belongs to."""
    alteration: str = ""
    """Kind of its alteration, which is the name of a task; empty for a sentence of the corpus."""
    intact_in: frozenset[str] = frozenset()
    """Tasks in which a sentence of the corpus is of the class that was not altered."""


@dataclass(slots=True)
class HeldOutPart:
    """The held-out rows of one dataset that have both parses, and how many rows there are."""

    parsed: list[ParsedSentence] = field(default_factory=list)
    num_rows: int = 0

    @property
    def num_without_parse(self) -> int:
        """Rows that a parser could not take."""
        return self.num_rows - len(self.parsed)


def read_held_out(
    corpus: ParsedFolders, altered: ParsedFolders, config: ProbingConfig
) -> tuple[HeldOutPart, HeldOutPart]:
    """Returns the held-out sentences of a parsed corpus, and all of its altered ones.

    A row that a parser could not take has a number but no parsed sentence, so the numbering does
    not depend on the parsers. Those of the corpus come first. An altered sentence keeps the place
    in the text that it was made from.

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
            sentence = _sentence(intact.num_rows, row, row, parse, config)
            intact_in = plan.intact_in.get(row.dataset_row, frozenset())
            intact.parsed.append(replace(sentence, intact_in=intact_in))
        intact.num_rows += 1
    for row, parse in _parses(altered, HoldOut(fraction=1.0), None):
        alteration = plan.alterations[row.dataset_row]
        place = _place_of(alteration, places, altered)
        if parse is not None:
            sentence = _sentence(intact.num_rows + changed.num_rows, row, place, parse, config)
            changed.parsed.append(replace(sentence, alteration=alteration.kind))
        changed.num_rows += 1
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
"""Heads, relations, starts, ends, labels, tags, left and right children of one sentence."""


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
    number: int, row: HeldOutRow, place: HeldOutRow, parse: _Parse, config: ProbingConfig
) -> ParsedSentence:
    """Returns the sentence of a row, at the place in the text that it has or was made from."""
    heads, deprels, starts, ends, labels, tags, binary_left, binary_right = parse
    return ParsedSentence(
        row=number,
        document_id=place.document_id,
        sentence_index=place.sentence_index,
        tokens=row.tokens,
        heads=heads,
        deprels=deprels,
        starts=starts,
        ends=ends,
        labels=labels,
        tags=tags,
        binary_left=binary_left,
        binary_right=binary_right,
        dataset_row=row.dataset_row,
        unit=config.hold_out.unit_of(place.document_id, place.sentence_index),
    )
