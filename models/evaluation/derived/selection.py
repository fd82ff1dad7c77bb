"""Which of a task's candidates are used: balanced classes within the sizes wanted."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from models.evaluation.derived.candidates import Candidate
from models.evaluation.derived.declarations import ProbingTask
from models.evaluation.derived.held_out.config import SPLITS, ProbingConfig
from models.evaluation.derived.held_out.stable_order import stable_number, text_key

LARGEST_SHARE = 0.2
"""No class of a task with many classes has a larger share of a split; published: equal shares."""
FEW_CLASSES_SHARE = 1.5
"""Where classes are so few that an equal share is larger, no class has more of these."""

Chosen = dict[str, list[Candidate]]
"""The candidates of each split, in order of their rows."""


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


def max_class_share(task: ProbingTask, num_classes: int) -> float:
    """Returns the largest share of a split that one class of the task may have."""
    if task.balance == "equal":
        return 1.0 / num_classes
    return max(LARGEST_SHARE, FEW_CLASSES_SHARE / num_classes)


def num_available(task: ProbingTask, candidates: Sequence[Candidate], config: ProbingConfig) -> int:
    """Returns how many candidates balanced classes could take over all splits together."""
    counts = Counter(candidate.label for candidate in candidates)
    usable = {label: n for label, n in counts.items() if n >= config.min_class_train}
    if len(usable) < 2:
        return 0
    share = max_class_share(task, len(usable))
    return sum(class_quotas(usable, sum(config.sizes.values()), max_share=share).values())


def choose(
    task: ProbingTask, by_split: Mapping[str, Sequence[Candidate]], config: ProbingConfig
) -> tuple[Chosen, str | None]:
    """Returns the chosen candidates of each split, and why the task is absent or None.

    Classes too rare in train, or missing in dev or test, are left out of all splits first.
    """
    counts = {split: Counter(c.label for c in by_split.get(split, ())) for split in SPLITS}
    labels = {
        label
        for label, number in counts["train"].items()
        if number >= config.min_class_train and counts["dev"][label] and counts["test"][label]
    }
    if len(labels) < 2:
        found = dict(sorted(counts["train"].items()))
        return {}, (
            f"fewer than two classes have {config.min_class_train} training sentences and one "
            f"each for dev and test (training sentences found: {found})"
        )
    chosen: Chosen = {}
    for split in SPLITS:
        available = {label: counts[split][label] for label in sorted(labels)}
        share = max_class_share(task, len(labels))
        quotas = class_quotas(available, config.sizes[split], max_share=share)
        chosen[split] = _take(task, by_split[split], quotas, config)
        if len(chosen[split]) < config.minimal_sizes[split]:
            return {}, (
                f"{len(chosen[split])} {split} sentences after balancing, "
                f"{config.minimal_sizes[split]} needed (found: {available})"
            )
    return chosen, None


def _take(
    task: ProbingTask,
    candidates: Sequence[Candidate],
    quotas: Mapping[str, int],
    config: ProbingConfig,
) -> list[Candidate]:
    classes: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        classes[candidate.label].append(candidate)
    taken: list[Candidate] = []
    for label, quota in quotas.items():
        ordered = sorted(
            classes[label],
            key=lambda c: stable_number(config.seed, task.name, text_key(c.sentence.tokens)),
        )
        taken += ordered[:quota]
    return sorted(taken, key=lambda c: c.sentence.row)
