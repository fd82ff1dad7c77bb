"""The report's section about training: its effect, facts, curves of every seed, accuracy.

Training is made for picking a held-out sentence's neighbour, so that is what the report says first:
on sentences that were not trained on, by the weights as they started and as they ended. The probing
tasks ask for something else, and may gain or lose by the same training.
"""

from __future__ import annotations

import io
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from treeviews.models.evaluation.resampling import CONFIDENCE, Interval, SeedMean, over_seeds
from treeviews.models.report.figures import count, number_of, with_interval
from treeviews.models.report.sections import Drawing, Section, Table, theme_colors
from treeviews.models.training.training_job import duration

Summary = Mapping[str, Any]
Records = Sequence[Mapping[str, Any]]
"""Of ``metrics.jsonl``, of one seed."""
Line = tuple[list[float], list[float], dict[str, Any]]
"""Steps, values, and how they are drawn: keywords of matplotlib's ``plot``."""

_CONTEXT = "how often a held-out sentence picks its neighbour from the batch"
ACCURACY_IN_WORDS = {
    **dict.fromkeys(("contrastive", "discriminative", "both"), _CONTEXT),
    "generative": "how often a word of the sentence that follows a held-out one scores higher than "
    "a word drawn at random",
}
"""What the held-out accuracy of an objective is."""
SMOOTHED_SHARE = 0.05
"""The loss of training is drawn as its running mean over this share of all steps."""


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

    @property
    def headline(self) -> str:
        """The effect in a sentence."""
        seeds = self.trained.num_seeds
        over = f"mean over {seeds} training seeds; " if seeds > 1 else ""
        return (
            f"Training {self.verb} {self.on}: from {self.untrained.mean:.1f} to "
            f"{self.trained.mean:.1f} %, {with_interval(self.difference, signed=True)} points "
            f"({over}chance {self.chance:.1f} %; {count(self.num_anchors)} sentences that "
            "were not trained on)."
        )


def effect_of_training(trainings: Sequence[Summary]) -> TrainingEffect:
    """Returns the effect of training, from the summaries of one or several seeds."""
    before, after = (
        [summary["held_out"][when] for summary in trainings] for when in ("untrained", "final")
    )
    first, last = ([100 * held_out["accuracy"] for held_out in side] for side in (before, after))
    gains = [b - a for a, b in zip(first, last, strict=True)]
    variances = (_variance(a) + _variance(b) for a, b in zip(before, after, strict=True))
    half = statistics.NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * 100 * math.sqrt(max(variances))
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


def _variance(held_out: Summary) -> float:
    """Returns the variance of an accuracy, a share of so many anchors."""
    accuracy = float(held_out["accuracy"])
    return accuracy * (1 - accuracy) / max(1, int(held_out["num_anchors"]))


def training_section(trainings: Sequence[Summary], metrics: Sequence[Records]) -> Section:
    """Returns the training's summary, its curves, and the held-out accuracy beside chance.

    Args:
        trainings: summaries of the same training from one or several seeds.
        metrics: what each of them logged.
    """
    meaning = ACCURACY_IN_WORDS[trainings[0]["objective"]]
    return Section.of(
        "Training",
        _facts(trainings[0]),
        _curves([f"seed {summary['seed']}" for summary in trainings], metrics),
        "Training and held-out batches may have different numbers of candidates, so do not compare "
        "their losses with each other.",
        f"{meaning[0].upper()}{meaning[1:]}.",
        _accuracy_table(trainings),
    )


def _facts(summary: Summary) -> list[str]:
    skipped = ", ".join(
        f"{reason.replace('_', ' ')} {count(n)}" for reason, n in summary["skipped"].items()
    )
    return [
        f"{count(summary['train_sentences'])} training sentences ({skipped or 'none'} skipped), "
        f"{count(summary['held_out_measured'])} held-out ones measured; "
        f"{count(summary['steps'])} steps in {number_of(summary['epochs'], 'epoch')}, "
        f"{duration(summary['seconds'], digits=1)}, "
        f"{count(round(summary['sentences_per_second']))} sentences/s",
        f"{count(summary['num_parameters'])} trained parameters",
        f"{100 * summary['coverage']['known_share']:.1f} % of the training tokens have a word "
        "vector",
        f"loss {summary['first_loss']:.3f} at the first step, {summary['final_loss']:.3f} at the "
        "last",
    ]


def _accuracy_table(trainings: Sequence[Summary]) -> Table:
    measured = [("untrained", trainings[0]["held_out"]["untrained"])]
    for summary in trainings:
        name = f"trained, seed {summary['seed']}" if len(trainings) > 1 else "trained"
        measured.append((name, summary["held_out"]["final"]))
    rows = [
        [
            name,
            f"{100 * held_out['accuracy']:.2f}",
            f"{100 * held_out['chance']:.2f}",
            f"{held_out['loss']:.3f}",
            count(held_out["num_anchors"]),
        ]
        for name, held_out in measured
    ]
    header = ("encoder", "accuracy, %", "chance, %", "loss", "anchors")
    return Table("Held-out sentences before and after training", header, rows)


# Curves.


def _curves(names: Sequence[str], metrics: Sequence[Records]) -> Drawing | None:
    """Returns the curves of loss and accuracy; None where nothing was logged."""
    train, held_out = (
        [[record for record in records if record["kind"] == kind] for records in metrics]
        for kind in ("train", "held_out")
    )
    loss = [*_lines(names, train, "loss", is_smooth=True), *_lines(names, held_out, "loss")]
    accuracy = _lines(names, held_out, "accuracy", factor=100)
    if every := [record for records in held_out for record in records]:
        # An epoch's last batch may be short, and its chance another.
        chance = 100 * statistics.median(float(record["chance"]) for record in every)
        steps = [float(record["step"]) for record in every]
        style = {"color": "c6", "label": f"chance, {chance:.2g} %", "linestyle": "dashed"}
        accuracy.append(([min(steps), max(steps)], [chance, chance], style))
    width = max(1, round(SMOOTHED_SHARE * len(train[0])))
    smooth = f", smoothed over {width} steps" if width > 1 else ""
    caption = (
        "Curves of every training seed; a step is one batch. Lines with marks are of held-out "
        f"sentences, thin ones of training batches{smooth}."
    )
    panels = {"Loss, nats": loss, "Held-out accuracy, %": accuracy}
    panels = {title: lines for title, lines in panels.items() if lines}
    return Drawing("curves", " and ".join(panels), caption, draw(panels)) if panels else None


def _lines(
    names: Sequence[str],
    seeds: Sequence[Records],
    key: str,
    *,
    factor: float = 1,
    is_smooth: bool = False,
) -> list[Line]:
    """Returns a curve a seed: of held-out sentences with marks, of training batches smoothed."""
    lines: list[Line] = []
    for place, (name, records) in enumerate(zip(names, seeds, strict=True)):
        known = [record for record in records if record.get(key) is not None]
        if not known:
            continue
        values = [factor * float(record[key]) for record in known]
        style = {"marker": "osD^vh"[place % 6], "markersize": 5, "linewidth": 1.8}
        if is_smooth:
            values = smoothed(values, max(1, round(SMOOTHED_SHARE * len(known)))).tolist()
            style = {"linewidth": 1, "alpha": 0.75}
        style |= {"color": f"c{place % 6}", "label": name}
        lines.append(([float(record["step"]) for record in known], values, style))
    return lines


def smoothed(values: Sequence[float], width: int) -> npt.NDArray[np.float64]:
    """Returns the mean of each value and the ones before it, at most ``width`` in all."""
    sums = np.convolve(values, np.ones(width))[: len(values)]
    return sums / np.minimum(np.arange(1, len(values) + 1), width)


def draw(panels: Mapping[str, Sequence[Line]]) -> str:
    """Returns an SVG with a panel of curves a title, one below the other.

    The same for the same curves; lines of one label are named once.
    """
    import matplotlib
    from matplotlib.figure import Figure

    colors = theme_colors()
    look: Any = {
        "svg.fonttype": "none", "svg.hashsalt": "curves", "font.size": 9,
        "axes.titlesize": 10, "axes.titleweight": "bold", "axes.titlelocation": "left",
        "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False,
        "text.color": colors["ink"], "axes.titlecolor": colors["ink"],
        "axes.labelcolor": colors["muted"], "axes.edgecolor": colors["muted"],
        "xtick.color": colors["muted"], "ytick.color": colors["muted"],
        "axes.facecolor": colors["ground"], "figure.facecolor": colors["ground"],
        "axes.grid": True, "grid.color": colors["rule"],
    }  # fmt: skip
    with matplotlib.rc_context(look):
        figure = Figure(figsize=(4.6, 3 * len(panels)), layout="constrained")
        by_label: dict[object, Any] = {}
        for place, (title, lines) in enumerate(panels.items(), start=1):
            axes = figure.add_subplot(len(panels), 1, place)
            for steps, values, style in lines:
                axes.plot(steps, values, **{**style, "color": colors[style["color"]]})
            axes.set(title=title, xlabel="step")
            axes.locator_params(axis="x", integer=True)
            by_label |= {line.get_label(): line for line in axes.get_lines()}
        figure.legend(handles=list(by_label.values()), loc="outside lower left", ncols=4)
        svg = io.StringIO()
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    return svg.getvalue()
