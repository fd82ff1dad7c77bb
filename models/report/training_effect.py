"""What training changed in what it is made for: a held-out sentence and its neighbour.

An effect is on sentences that were not trained on, by the weights as they started and as they
ended. The probing tasks ask for something else, and may gain or lose by the same training.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from models.evaluation.resampling import CONFIDENCE, Interval, SeedMean, over_seeds
from models.report.markdown import count, percent, with_interval

_CONTEXT = "how often a held-out sentence picks its neighbour from the batch"
ACCURACY_IN_WORDS = {
    "contrastive": _CONTEXT,
    "discriminative": _CONTEXT,
    "both": _CONTEXT,
    "generative": "how often a word of the sentence that follows a held-out one scores higher than "
    "a word drawn at random",
}
"""What the held-out accuracy of an objective is."""


def meaning_of_accuracy(objective: str) -> str:
    """Returns as a sentence what the held-out accuracy of an objective is."""
    meaning = ACCURACY_IN_WORDS[objective]
    return f"{meaning[0].upper()}{meaning[1:]}."


@dataclass(frozen=True, slots=True)
class TrainingEffect:
    """Held-out accuracy before and after training, in percent, over the seeds of training."""

    on: str
    """What is counted, of `ACCURACY_IN_WORDS`."""
    untrained: SeedMean
    trained: SeedMean
    chance: float
    difference: Interval
    """Trained minus untrained. The seeds share their held-out sentences, so it is as wide as that
    of one seed: by the normal approximation, sentences counted as independent."""
    same_sign: bool
    """Whether every seed moved the same way."""
    num_anchors: int
    """Held-out sentences that were asked for their neighbour."""

    @property
    def verb(self) -> str:
        """What training does to the accuracy."""
        if not (self.difference.excludes_zero and self.same_sign):
            return "does not measurably change"
        return "raises" if self.difference.value > 0 else "lowers"


def effect_of_training(trainings: Sequence[Mapping[str, Any]]) -> TrainingEffect:
    """Returns the effect of training, from the summaries of one or several seeds."""
    before, after = (
        [one["held_out"][when] for one in trainings] for when in ("untrained", "final")
    )
    first, last = ([100 * found["accuracy"] for found in side] for side in (before, after))
    gains = [b - a for a, b in zip(first, last, strict=True)]
    errors = (_error(a) + _error(b) for a, b in zip(before, after, strict=True))
    half = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * 100 * math.sqrt(max(errors))
    gain = over_seeds(gains).mean
    return TrainingEffect(
        on=ACCURACY_IN_WORDS[trainings[0]["objective"]],
        untrained=over_seeds(first),
        trained=over_seeds(last),
        chance=100 * after[0]["chance"],
        difference=Interval(gain, gain - half, gain + half),
        same_sign=len({gain > 0 for gain in gains}) == 1,
        num_anchors=after[0]["num_anchors"],
    )


def _error(found: Mapping[str, Any]) -> float:
    """Returns the variance of an accuracy, a share of so many anchors."""
    return float(found["accuracy"] * (1 - found["accuracy"]) / max(1, found["num_anchors"]))


def headline(effect: TrainingEffect) -> str:
    """Returns the effect in a sentence."""
    seeds = effect.trained.num_seeds
    over = f"mean over {seeds} training seeds; " if seeds > 1 else ""
    return (
        f"Training {effect.verb} {effect.on}: from {percent(effect.untrained.mean)} to "
        f"{percent(effect.trained.mean)} %, {with_interval(effect.difference, signed=True)} points "
        f"({over}chance {percent(effect.chance)} %; {count(effect.num_anchors)} sentences that "
        "were not trained on)."
    )


def without_neighbour(training: Mapping[str, Any]) -> str:
    """Returns why accuracy is over fewer sentences than were measured; empty where it is not."""
    measured, anchors = training["held_out_measured"], training["held_out"]["final"]["num_anchors"]
    if anchors >= measured:
        return ""
    return (
        f"Of {count(measured)} held-out sentences, {count(anchors)} have a neighbour in their "
        f"batch to be picked or predicted, and held-out accuracy is over these; "
        f"{count(measured - anchors)} have none"
    )
