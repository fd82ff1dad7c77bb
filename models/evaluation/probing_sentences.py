"""The held-out sentences that probing tasks are made of, and what determines these.

Settings, versions of the rules, and choices by hash; and the rows of a parsed corpus that no
encoder was trained on, as label rules read them.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import pyarrow as pa

from treeviews.models.config.held_out import HeldOutUnit, HoldOut
from treeviews.pipeline.base.settings import Count, Option, Range, Settings
from treeviews.pipeline.shards.manifests import check_parsed_from, read_dataset_manifest
from treeviews.pipeline.shards.shards import aligned_table

STAGES = ("sentences", "dependencies", "constituents")
SPLITS = ("train", "dev", "test")
SCARCE_SHARES: Mapping[str, float] = {"train": 1 / 2, "dev": 1 / 6, "test": 1 / 3}
"""Shares of a task with fewer sentences than its sizes ask for: a test split that still tells
encoders apart is worth more than the last training sentences."""

PROBING_VERSION = 5
"""Raised when the same parses and configuration would give other tasks: another label rule, split
or constant of this package, such as the largest share of a class."""


class ProbingConfig(Settings):
    """Sizes and limits of the probing tasks.

    Differs from Conneau et al. 2018, who draw 100,000 / 10,000 / 10,000 sentences a task from the
    Toronto Book Corpus: the sizes here fit a corpus of a few thousand held-out sentences, and
    grow by parameter.
    """

    called: ClassVar[str] = "probing setting"

    seed: Annotated[int, Option("probing_seed")] = 0
    held_out_fraction: Annotated[
        float,
        Range("lie in (0, 1], as probing needs held-out documents", lambda value: 0 < value <= 1),
        Option(),
    ] = 0.3
    held_out_seed: Annotated[int, Option()] = 0
    held_out_unit: Annotated[HeldOutUnit, Option()] = "document"
    held_out_block_sentences: Count = 50
    """The four fields of `HoldOut`, the training's own."""
    min_tokens: int = 5
    """Published: sentences of 5 to 28 words (Conneau et al. 2018, section 2)."""
    max_tokens: int = 28
    max_sentences: int = 60_000
    """Held-out sentences looked at, in dataset order; bounds the cost on a large corpus."""
    train_size: Count = 2_000
    dev_size: Count = 500
    test_size: Count = 1_000
    min_train: int = 80
    """A task with fewer sentences in a split is listed as absent; the report marks one with few."""
    min_dev: int = 25
    min_test: int = 50
    min_class_train: int = 10
    """A class with fewer training sentences is left out of its task."""
    num_words: int = 40
    """Most classes of word content; published: 1,000."""
    num_length_bins: int = 6
    num_top_constituents: int = 20
    """Published: the 19 most common sequences and one class for all others."""
    max_depth_length_correlation: float = 0.2
    """|Pearson r| of depth and length that tree depth aims at; published: about 0."""

    @property
    def hold_out(self) -> HoldOut:
        """Which sentences no encoder was trained on."""
        return HoldOut.of(self)

    @property
    def sizes(self) -> dict[str, int]:
        """Most sentences of each split."""
        return dict(zip(SPLITS, (self.train_size, self.dev_size, self.test_size), strict=True))

    @property
    def minimal_sizes(self) -> dict[str, int]:
        """Fewest sentences of each split for which a task stands."""
        return dict(zip(SPLITS, (self.min_train, self.min_dev, self.min_test), strict=True))

    @property
    def sentences_of_a_class(self) -> int:
        """How many sentences give a class its least number in train, whatever the shares."""
        train_share = min(SCARCE_SHARES["train"], self.train_size / sum(self.sizes.values()))
        return math.ceil(self.min_class_train / train_share)


def stable_number(*parts: object) -> int:
    """Returns a 64-bit number drawn from the sha256 of the parts' text.

    It is the same everywhere and depends on nothing that stands beside the parts."""
    joined = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(joined.encode()).digest()[:8], "big")


def text_key(tokens: Sequence[str]) -> str:
    """Returns what makes two sentences the same text: their words, whatever their case."""
    return " ".join(tokens).lower()


@dataclass(frozen=True, slots=True)
class ParsedSentence:
    """One held-out sentence of n tokens with both parses (fields as in the shards' schema)."""

    row: int
    """Its number among the held-out sentences of the corpus."""
    document_id: str
    sentence_index: int
    tokens: tuple[str, ...]
    heads: tuple[int, ...]
    deprels: tuple[str, ...]
    span_starts: tuple[int, ...]
    span_ends: tuple[int, ...]
    span_labels: tuple[str, ...]
    tags: tuple[str, ...]
    binary_left: tuple[int, ...] = ()
    binary_right: tuple[int, ...] = ()
    dataset_row: int = 0
    """Its row in the corpus, counted over the shards."""
    unit: str = ""
    """The document, or the held-out block of it, that it belongs to."""

    @property
    def spans(self) -> list[tuple[int, int, str]]:
        """Beginning, end and label of each constituent."""
        return list(zip(self.span_starts, self.span_ends, self.span_labels, strict=True))


_COLUMNS = (
    *("document_id", "sentence_index", "tokens", "heads", "deprels"),
    *("span_starts", "span_ends", "span_labels", "tags", "binary_left", "binary_right"),
)


def read_held_out(
    corpus: Mapping[str, Path], config: ProbingConfig
) -> tuple[list[ParsedSentence], int]:
    """Returns the held-out sentences of a corpus that have both parses, and the number of rows.

    A row that a parser could not take has a number but no parsed sentence, so the numbering does
    not depend on the parsers.

    Args:
        corpus: folders of ``sentences``, ``dependencies`` and ``constituents``.

    Raises:
        FileNotFoundError: a stage is not complete.
        ValueError: the stages do not have the same rows, or are parses of other sentences.
    """
    text, *parses = [read_dataset_manifest(corpus[stage], stage) for stage in STAGES]
    for stage, manifest in zip(STAGES[1:], parses, strict=True):
        check_parsed_from(corpus[stage], manifest, text)
    folders = [(stage, corpus[stage]) for stage in STAGES]
    parsed: list[ParsedSentence] = []
    num_rows, first_row = 0, 0
    for shard in text.shards:
        table = aligned_table(folders, shard.number, _COLUMNS)
        places = np.flatnonzero(config.hold_out.mask(table))[: config.max_sentences - num_rows]
        rows = table.take(pa.array(places, pa.int64())).to_pylist()
        for place, row in zip(places.tolist(), rows, strict=True):
            if None not in row.values():
                fields: dict[str, Any] = {
                    k: tuple(v) if isinstance(v, list) else v for k, v in row.items()
                }
                unit = config.hold_out.unit_of(row["document_id"], row["sentence_index"])
                fields |= {"row": num_rows, "dataset_row": first_row + place, "unit": unit}
                parsed.append(ParsedSentence(**fields))
            num_rows += 1
        first_row += shard.rows
        if num_rows == config.max_sentences:
            break
    return parsed, num_rows
