"""Which of a task's candidates are used: balanced classes within the sizes wanted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from models.evaluation.probing.classes import Candidate
from models.evaluation.probing.config import SPLITS, ProbingConfig
from models.evaluation.probing.declarations import ProbingTask
from models.evaluation.probing.stable_order import stable_number, text_key

Chosen = dict[str, list[Candidate]]
"""The candidates of each split, in order of their rows."""


def class_quotas(available: Mapping[str, int], size: int, *, equal: bool) -> dict[str, int]:
    """Returns how many sentences of each class to take, at most ``size`` in all.

    Args:
        available: sentences of each class.
        equal: cut all classes to the rarest; otherwise cut only the commonest ones, to one
            common number, as little as ``size`` asks.
    """
    if equal:
        most = min(*available.values(), size // len(available))
        return dict.fromkeys(available, most)
    quotas: dict[str, int] = {}
    left = size
    for place, label in enumerate(sorted(available, key=lambda name: (available[name], name))):
        quotas[label] = min(available[label], left // (len(available) - place))
        left -= quotas[label]
    return quotas


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
        quotas = class_quotas(available, config.sizes[split], equal=task.balance == "equal")
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
