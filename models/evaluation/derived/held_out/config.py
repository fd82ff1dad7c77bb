"""What determines the probing data: settings, versions of the rules, and choices by hash."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

from models.config.held_out import HeldOutUnit, HoldOut
from pipeline.base.settings import Count, Range, Settings

_ANY_HELD_OUT = Range(
    "lie in (0, 1], as probing needs held-out documents", lambda value: 0 < value <= 1
)

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

    seed: int = 0
    held_out_fraction: Annotated[float, _ANY_HELD_OUT] = 0.3
    held_out_seed: int = 0
    held_out_unit: HeldOutUnit = "document"
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

    def _check_together(self) -> None:
        """Refuses settings that no data could satisfy.

        Raises:
            ValueError: naming the field and what it must be.
        """
        if not 1 <= self.min_tokens <= self.max_tokens:
            raise ValueError(
                f"min_tokens {self.min_tokens} and max_tokens {self.max_tokens} must satisfy "
                "1 <= min_tokens <= max_tokens"
            )

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

    def takes_length(self, num_tokens: int) -> bool:
        """Returns whether sentences of this many tokens are probed; in passages, all are."""
        return self.min_tokens <= num_tokens <= self.max_tokens


def stable_number(*parts: object) -> int:
    """Returns a 64-bit number drawn from the sha256 of the parts' text.

    It is the same everywhere and depends on nothing that stands beside the parts."""
    joined = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(joined.encode()).digest()[:8], "big")


def text_key(tokens: Sequence[str]) -> str:
    """Returns what makes two sentences the same text: their words, whatever their case."""
    return " ".join(tokens).lower()
