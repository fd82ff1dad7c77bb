"""Which split a candidate falls into: by document, by text, or by target word."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from models.evaluation.derived.candidates import Candidate
from models.evaluation.derived.held_out.config import SPLITS, ProbingConfig
from models.evaluation.derived.held_out.stable_order import stable_number, text_key

LEAST_FILL = 0.5
"""Documents decide the splits if each split gets at least this part of its due share."""
SCARCE_SHARES: Mapping[str, float] = {"train": 1 / 2, "dev": 1 / 6, "test": 1 / 3}
"""Shares of a task with fewer sentences than its sizes ask for: a test split that still tells
encoders apart is worth more than the last training sentences."""

_RANGE = 1 << 64


def split_shares(num_available: int, config: ProbingConfig) -> dict[str, float]:
    """Returns the share of each split, in sum 1.

    Args:
        num_available: sentences that the task could use over all splits.
    """
    wanted = sum(config.sizes.values())
    if num_available < wanted:
        return dict(SCARCE_SHARES)
    return {split: size / wanted for split, size in config.sizes.items()}


def sentences_of_a_class(config: ProbingConfig) -> int:
    """Returns how many sentences give a class its least number in train, whatever the shares."""
    train_share = min(SCARCE_SHARES["train"], config.train_size / sum(config.sizes.values()))
    return math.ceil(config.min_class_train / train_share)


def assign_units(
    units: Mapping[str, float], shares: Mapping[str, float], seed: int
) -> dict[str, str]:
    """Returns the split of each unit, so that splits come close to their shares.

    The heaviest units go first, ties in seeded order; each goes to the split that lacks most.

    Args:
        units: weight of each unit (a document, a block or a word), as its number of sentences.
    """
    total = sum(units.values())
    lacking = {split: total * shares[split] for split in SPLITS}
    ordered = sorted(units, key=lambda u: (-units[u], stable_number(seed, "split", u)))
    assigned: dict[str, str] = {}
    for unit in ordered:
        split = max(SPLITS, key=lambda name: lacking[name])
        assigned[unit] = split
        lacking[split] -= units[unit]
    return assigned


class TextSplits:
    """The splits of one task: whole documents (or held-out blocks), or texts where those are few.

    Differs from Conneau et al. 2018, whose splits are random sentences: neighbours in a document
    share their words, so whole documents go to one split. Duplicate texts must be gone already.
    """

    def __init__(
        self, candidates: Sequence[Candidate], shares: Mapping[str, float], config: ProbingConfig
    ) -> None:
        self._config = config
        self._shares = shares
        # Each class weighs the same, so that the rare ones, which bound the size of a balanced
        # split, come close to their shares.
        counts = Counter(candidate.label for candidate in candidates)
        weights: dict[str, float] = defaultdict(float)
        for candidate in candidates:
            weights[self._unit_of(candidate)] += 1 / counts[candidate.label]
        self._splits = assign_units(weights, shares, config.seed)
        filled: dict[str, float] = defaultdict(float)
        for unit, split in self._splits.items():
            filled[split] += weights[unit]
        self.unit: str = config.held_out_unit
        """``document``, ``block`` or ``sentence``."""
        if any(filled[s] < LEAST_FILL * shares[s] * len(counts) for s in SPLITS):
            self.unit = "sentence"

    def of(self, candidate: Candidate) -> str:
        """Returns the split of one of the candidates."""
        if self.unit != "sentence":
            return self._splits[self._unit_of(candidate)]
        text = text_key(candidate.sentence.tokens)
        place = stable_number(self._config.seed, "text", text) / _RANGE
        for split in SPLITS[:-1]:
            if place < self._shares[split]:
                return split
            place -= self._shares[split]
        return SPLITS[-1]

    def _unit_of(self, candidate: Candidate) -> str:
        sentence = candidate.sentence
        return self._config.hold_out.unit_of(sentence.document_id, sentence.sentence_index)


class WordSplits:
    """The splits of one task by target word, so that no word is a target in two splits.

    As published for tense, subject and object number (Conneau et al. 2018, section 2), against
    classifiers that learn words by heart. Each label's words are assigned on their own, so both
    labels fill all splits; a word with two labels goes with the commoner one.
    """

    unit = "target_word"

    def __init__(
        self, candidates: Sequence[Candidate], shares: Mapping[str, float], config: ProbingConfig
    ) -> None:
        labels: dict[str, Counter[str]] = defaultdict(Counter)
        for candidate in candidates:
            labels[candidate.word][candidate.label] += 1
        by_label: dict[str, dict[str, int]] = defaultdict(dict)
        for word, counts in labels.items():
            label = min(counts, key=lambda name: (-counts[name], name))
            by_label[label][word] = sum(counts.values())
        self._splits: dict[str, str] = {}
        for units in by_label.values():
            self._splits.update(assign_units(units, shares, config.seed))

    def of(self, candidate: Candidate) -> str:
        """Returns the split of one of the candidates."""
        return self._splits[candidate.word]
