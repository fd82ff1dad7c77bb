"""Which split a sentence falls into: by document, by text, or by target word."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from models.evaluation.probing.candidates import Candidate
from models.evaluation.probing.config import SPLITS, ProbingConfig
from models.evaluation.probing.sentences import ParsedSentence
from models.evaluation.probing.stable_order import stable_number, text_key

LEAST_FILL = 0.5
"""Documents decide the splits if each split gets at least this part of its due share."""


def assign_units(units: Mapping[str, int], config: ProbingConfig) -> dict[str, str]:
    """Returns the split of each unit, so that splits come close to their due shares.

    The largest units go first, ties in seeded order; each goes to the split that lacks most.

    Args:
        units: number of sentences of each unit (a document, a text or a word).
    """
    total, wanted = sum(units.values()), sum(config.sizes.values())
    lacking = {split: total * size / wanted for split, size in config.sizes.items()}
    ordered = sorted(units, key=lambda u: (-units[u], stable_number(config.seed, "split", u)))
    assigned: dict[str, str] = {}
    for unit in ordered:
        split = max(SPLITS, key=lambda name: lacking[name])
        assigned[unit] = split
        lacking[split] -= units[unit]
    return assigned


class SentenceSplits:
    """The splits shared by the tasks: whole documents, or texts where documents are too few.

    Differs from Conneau et al. 2018, whose splits are random sentences: neighbours in a document
    share their words, so whole documents go to one split. Duplicate texts must be gone already.
    """

    def __init__(self, sentences: Sequence[ParsedSentence], config: ProbingConfig) -> None:
        self.unit = "document"
        self._splits = assign_units(Counter(s.document_id for s in sentences), config)
        filled = Counter(self._splits[s.document_id] for s in sentences)
        wanted = sum(config.sizes.values())
        for split, size in config.sizes.items():
            if filled[split] < LEAST_FILL * len(sentences) * size / wanted:
                self.unit = "sentence"
        self._seed = config.seed
        self._sizes = config.sizes

    def of(self, sentence: ParsedSentence) -> str:
        """Returns the sentence's split."""
        if self.unit == "document":
            return self._splits[sentence.document_id]
        place = stable_number(self._seed, "text", text_key(sentence.tokens)) % sum(
            self._sizes.values()
        )
        for split in SPLITS[:-1]:
            if place < self._sizes[split]:
                return split
            place -= self._sizes[split]
        return SPLITS[-1]


def split_by_word(candidates: Sequence[Candidate], config: ProbingConfig) -> dict[str, str]:
    """Returns the split of each target word, so that no word is a target in two splits.

    As published for tense, subject and object number (Conneau et al. 2018, section 2), against
    classifiers that learn words by heart. Each label's words are assigned on their own, so both
    labels fill all splits; a word with two labels goes with the commoner one.
    """
    labels: dict[str, Counter[str]] = defaultdict(Counter)
    for candidate in candidates:
        labels[candidate.word][candidate.label] += 1
    by_label: dict[str, dict[str, int]] = defaultdict(dict)
    for word, counts in labels.items():
        label = min(counts, key=lambda name: (-counts[name], name))
        by_label[label][word] = sum(counts.values())
    assigned: dict[str, str] = {}
    for units in by_label.values():
        assigned.update(assign_units(units, config))
    return assigned
