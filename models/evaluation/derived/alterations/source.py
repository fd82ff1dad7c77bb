"""The held-out sentences that may be altered, with their constituents."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from models.evaluation.derived.held_out.config import ProbingConfig
from models.evaluation.derived.held_out.held_out_rows import HeldOutRow, held_out_rows, read_rows


@dataclass(frozen=True, slots=True)
class SourceSentence:
    """A held-out sentence of n tokens; spans and tags are empty where it has no parse."""

    row: HeldOutRow
    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    labels: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    @property
    def tokens(self) -> tuple[str, ...]:
        """The words."""
        return self.row.tokens


@dataclass(frozen=True, slots=True)
class SourceText:
    """The held-out sentences of a corpus, and the sentence stage that they stand in."""

    folder: Path
    sentences: tuple[SourceSentence, ...]


def read_source(sentences: Path, constituents: Path, config: ProbingConfig) -> SourceText:
    """Returns the held-out sentences of a corpus whose constituents are parsed.

    Raises:
        FileNotFoundError: a stage is not complete.
        ValueError: the stages do not have the same rows.
    """
    found: list[SourceSentence] = []
    rows = held_out_rows(sentences, config.hold_out, limit=config.max_sentences)
    for shard, in_shard in groupby(rows, key=lambda row: row.shard):
        held_out = list(in_shard)
        trees = read_rows(
            sentences, constituents, "constituents", shard, [row.position for row in held_out]
        )
        for row, tree in zip(held_out, trees, strict=True):
            spans = () if None in tree else tree[:4]
            found.append(SourceSentence(row, *spans))
    return SourceText(sentences, tuple(found))
