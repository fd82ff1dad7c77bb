"""Which split a candidate falls into, by document, text or target word, and which are used.

Used are balanced classes within the sizes wanted.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from treeviews.models.evaluation.probing_sentences import (
    SCARCE_SHARES,
    SPLITS,
    ProbingConfig,
    stable_number,
)
from treeviews.models.evaluation.probing_tasks import (
    Candidate,
    DerivedTask,
    TooFewError,
    with_intruders,
)

LEAST_FILL = 0.5
"""Documents decide the splits if each split gets at least this part of its due share."""
_RANGE = 1 << 64
LARGEST_SHARE = 0.2
"""No class of a task with many classes has a larger share of a split; published: equal shares."""
FEW_CLASSES_SHARE = 1.5
"""Where classes are so few that an equal share is larger, no class has more of these."""

Chosen = dict[str, list[Candidate]]
"""The candidates of each split, in order of their rows."""


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


Splits = tuple[list[str], str]
"""The split of each candidate, and by what they were split: ``document``, ``block``, ``sentence``
or ``target_word``."""


def by_document(
    candidates: Sequence[Candidate],
    shares: Mapping[str, float],
    config: ProbingConfig,
    *,
    by_text: bool = False,
) -> Splits:
    """Returns splits of whole documents, or held-out blocks.

    Differs from Conneau et al. 2018, whose splits are random sentences: neighbours in a document
    share their words, so whole documents go to one split.

    Args:
        by_text: whether texts are split where documents are few; no text may stand twice then.
    """
    # Each class weighs the same, so that the rare ones, which bound the size of a balanced
    # split, come close to their shares.
    counts = Counter(candidate.label for candidate in candidates)
    units = [candidate.sentence.unit for candidate in candidates]
    weights: dict[str, float] = defaultdict(float)
    for candidate, unit in zip(candidates, units, strict=True):
        weights[unit] += 1 / counts[candidate.label]
    splits = assign_units(weights, shares, config.seed)
    filled: dict[str, float] = defaultdict(float)
    for unit, split in splits.items():
        filled[split] += weights[unit]
    is_filled = all(filled[s] >= LEAST_FILL * shares[s] * len(counts) for s in SPLITS)
    if by_text and not is_filled:
        return [_split_of_text(each.text, shares, config) for each in candidates], "sentence"
    return [splits[unit] for unit in units], config.held_out_unit


def _split_of_text(text: str, shares: Mapping[str, float], config: ProbingConfig) -> str:
    place = stable_number(config.seed, "text", text) / _RANGE
    for split in SPLITS[:-1]:
        if place < shares[split]:
            return split
        place -= shares[split]
    return SPLITS[-1]


def by_target_word(
    candidates: Sequence[Candidate], shares: Mapping[str, float], config: ProbingConfig
) -> Splits:
    """Returns splits by target word, so that no word is a target in two splits.

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
    splits: dict[str, str] = {}
    for units in by_label.values():
        splits |= assign_units(units, shares, config.seed)
    return [splits[candidate.word] for candidate in candidates], "target_word"


def class_quotas(available: Mapping[str, int], size: int, *, max_share: float) -> dict[str, int]:
    """Returns how many sentences of each class to take, at most ``size`` in all.

    Only the commonest classes are cut, all to one number: the largest at which none has more
    than ``max_share`` of the sentences taken and all together are within ``size``.

    Args:
        available: sentences of each class.
        max_share: one over the number of classes cuts all classes to the rarest.
    """
    most, before = max(available.values()), -1
    while most != before:
        taken = sum(min(number, most) for number in available.values())
        most, before = min(most, math.floor(max_share * taken + 1e-9)), most
    quotas: dict[str, int] = {}
    left = size
    for place, label in enumerate(sorted(available, key=lambda name: (available[name], name))):
        quotas[label] = min(available[label], most, left // (len(available) - place))
        left -= quotas[label]
    return quotas


def _class_share(task: DerivedTask, num_classes: int) -> float:
    """Returns the largest share of a split that one class of the task may have."""
    if task.balance == "equal":
        return 1.0 / num_classes
    return max(LARGEST_SHARE, FEW_CLASSES_SHARE / num_classes)


def _split_shares(
    task: DerivedTask, candidates: Sequence[Candidate], config: ProbingConfig
) -> Mapping[str, float]:
    """Returns the share of each split, in sum 1; others where balanced classes are too few."""
    counts = Counter(candidate.label for candidate in candidates)
    usable = {label: n for label, n in counts.items() if n >= config.min_class_train}
    wanted = sum(config.sizes.values())
    if len(usable) >= 2:
        quotas = class_quotas(usable, wanted, max_share=_class_share(task, len(usable)))
        if sum(quotas.values()) >= wanted:
            return {split: size / wanted for split, size in config.sizes.items()}
    return SCARCE_SHARES


def chosen_items(
    task: DerivedTask, candidates: Sequence[Candidate], config: ProbingConfig
) -> tuple[Chosen, str]:
    """Returns the items of each split, and by what they were split.

    Classes too rare in train, or missing in dev or test, are left out of all splits first.

    Raises:
        TooFewError: the reason why the task is absent.
    """
    shares = _split_shares(task, candidates, config)
    if task.split_by == "target_word":
        splits, unit = by_target_word(candidates, shares, config)
    else:
        by_text = task.split_by == "document"
        splits, unit = by_document(candidates, shares, config, by_text=by_text)
    by_split: dict[str, dict[str, list[Candidate]]] = {split: defaultdict(list) for split in SPLITS}
    for candidate, split in zip(candidates, splits, strict=True):
        by_split[split][candidate.label].append(candidate)
    counts = {split: {c: len(m) for c, m in by_split[split].items()} for split in SPLITS}
    labels = sorted(
        label
        for label, number in counts["train"].items()
        if number >= config.min_class_train and label in counts["dev"] and label in counts["test"]
    )
    if len(labels) < 2:
        raise TooFewError(
            f"fewer than two classes have {config.min_class_train} training items and one "
            f"each for dev and test (training items found: {_in_words(counts['train'])})"
        )
    chosen: Chosen = {}
    for split in SPLITS:
        available = {label: counts[split][label] for label in labels}
        share = _class_share(task, len(labels))
        quotas = class_quotas(available, config.sizes[split], max_share=share)
        chosen[split] = _draw(task, by_split[split], quotas, config)
        if len(chosen[split]) < config.minimal_sizes[split]:
            raise TooFewError(
                f"{len(chosen[split])} {split} items after balancing, "
                f"{config.minimal_sizes[split]} needed (found: {_in_words(available)})"
            )
    if task.name == "discourse_coherence":
        chosen = {split: with_intruders(items, split, config) for split, items in chosen.items()}
    return chosen, unit


def _in_words(counts: Mapping[str, int]) -> str:
    """Returns numbers of items as text: ``13 intact, 12 inverted``."""
    return ", ".join(f"{number} {label}" for label, number in sorted(counts.items())) or "none"


def _draw(
    task: DerivedTask,
    classes: Mapping[str, Sequence[Candidate]],
    quotas: Mapping[str, int],
    config: ProbingConfig,
) -> list[Candidate]:
    drawn: list[Candidate] = []
    for label, quota in quotas.items():
        ordered = sorted(
            classes[label], key=lambda each: stable_number(config.seed, task.name, each.text)
        )
        drawn += ordered[:quota]
    return sorted(drawn, key=lambda c: c.sentence.row)
