"""The held-out sentences of a corpus and the altered ones, with their parses, in one numbering."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from models.config.held_out import HoldOut
from models.evaluation.derived.held_out.altered_sentences import Alteration, read_plan
from models.evaluation.derived.held_out.config import ProbingConfig
from models.evaluation.derived.held_out.held_out_rows import (
    HeldOutRow,
    Parse,
    ParsedSentence,
    parsed_rows,
)


@dataclass(frozen=True, slots=True)
class ParsedFolders:
    """The three stages of one parsed corpus: same shards, same rows."""

    sentences: Path
    dependencies: Path
    constituents: Path


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
    for row, parse in _parsed(corpus, config.hold_out, config.max_sentences):
        places[row.dataset_row] = row
        if parse is not None:
            sentence = _sentence(intact.num_rows, row, row, parse, config)
            intact_in = plan.intact_in.get(row.dataset_row, frozenset())
            intact.parsed.append(replace(sentence, intact_in=intact_in))
        intact.num_rows += 1
    for row, parse in _parsed(altered, HoldOut(fraction=1.0)):
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


def _parsed(
    folders: ParsedFolders, hold_out: HoldOut, limit: int | None = None
) -> Iterator[tuple[HeldOutRow, Parse | None]]:
    stages = {"dependencies": folders.dependencies, "constituents": folders.constituents}
    return parsed_rows(folders.sentences, stages, hold_out, limit=limit)


def _sentence(
    number: int, row: HeldOutRow, place: HeldOutRow, parse: Parse, config: ProbingConfig
) -> ParsedSentence:
    """Returns the sentence of a row, at the place in the text that it has or was made from."""
    return ParsedSentence(
        number,
        place.document_id,
        place.sentence_index,
        row.tokens,
        *parse,
        dataset_row=row.dataset_row,
        unit=config.hold_out.unit_of(place.document_id, place.sentence_index),
    )
