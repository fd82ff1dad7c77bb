"""The report's section about training: facts, curves of every seed, held-out accuracy."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from models.report.html.line_chart import Line, LineChart, line_chart
from models.report.html.sections import (
    Bullets,
    Figure,
    Paragraph,
    Section,
    Subheading,
    Table,
)
from models.report.markdown import count, number_of, percent
from models.report.training_effect import meaning_of_accuracy, without_neighbour
from models.training.logs import duration

Records = Sequence[Mapping[str, Any]]
"""Of ``metrics.jsonl``, of one seed."""

SMOOTHED_SHARE = 0.05
"""The loss of training is drawn as its running mean over this share of all steps."""
MOST_POINTS = 400
"""Of a curve; more are not told apart, and take room in the page."""


def training_section(trainings: Records, metrics: Sequence[Records]) -> Section:
    """Returns the training's summary, its curves, and the held-out accuracy beside chance.

    Args:
        trainings: summaries of the same training from one or several seeds.
        metrics: what each of them logged.
    """
    summary = trainings[0]
    skipped = ", ".join(
        f"{reason.replace('_', ' ')} {count(n)}" for reason, n in summary["skipped"].items()
    )
    epochs = number_of(summary["epochs"], "epoch")
    facts = (
        f"{count(summary['train_sentences'])} training sentences ({skipped or 'none'} skipped), "
        f"{count(summary['held_out_measured'])} held-out ones measured; "
        f"{count(summary['steps'])} steps in {epochs}, {duration(summary['seconds'], digits=1)}, "
        f"{count(round(summary['sentences_per_second']))} sentences/s",
        f"{count(summary['num_parameters'])} trained parameters",
        f"{percent(100 * summary['coverage']['known_share'])} % of the training tokens have a word "
        "vector",
        f"loss {summary['first_loss']:.3f} at the first step, {summary['final_loss']:.3f} at the "
        "last",
        *filter(None, [without_neighbour(summary)]),
    )
    differ = (
        "Training and held-out batches may have different numbers of candidates; their losses are "
        "not to be compared with each other."
    )
    return Section.of(
        "Training",
        Bullets(facts),
        _curves(trainings, metrics),
        Paragraph.of(differ),
        Subheading("Held-out accuracy"),
        Paragraph.of(meaning_of_accuracy(summary["objective"])),
        _accuracy_table(trainings),
    )


def _accuracy_table(trainings: Records) -> Table:
    measured = [("untrained", trainings[0]["held_out"]["untrained"])]
    for one in trainings:
        name = f"trained, seed {one['seed']}" if len(trainings) > 1 else "trained"
        measured.append((name, one["held_out"]["final"]))
    rows = [
        [
            name,
            f"{100 * found['accuracy']:.2f}",
            f"{100 * found['chance']:.2f}",
            f"{chance_ratio(found):.1f}",
            f"{found['loss']:.3f}",
            count(found["num_anchors"]),
        ]
        for name, found in measured
    ]
    header = ("encoder", "accuracy, %", "chance, %", "× chance", "loss", "anchors")
    return Table.of("Held-out sentences before and after training", header, rows)


def chance_ratio(measured: Mapping[str, Any]) -> float:
    """Returns how many times chance a context accuracy is; 0 where nothing was measured."""
    chance = float(measured["chance"])
    return float(measured["accuracy"]) / chance if chance > 0 else 0.0


def _of_kind(metrics: Records, kind: str) -> Records:
    return [record for record in metrics if record["kind"] == kind]


def _chance(records: Records) -> float:
    """Returns the usual chance in percent; an epoch's last batch may be short."""
    return 100.0 * statistics.median(float(record["chance"]) for record in records)


def smoothed(values: Sequence[float], width: int) -> list[float]:
    """Returns the mean of each value and the ones before it, at most ``width`` in all."""
    return [
        sum(values[max(0, i - width + 1) : i + 1]) / min(i + 1, width) for i in range(len(values))
    ]


def _curves(trainings: Records, metrics: Sequence[Records]) -> Figure | None:
    """Returns the curves of loss and accuracy; None where nothing was logged."""
    names = [f"seed {one['seed']}" for one in trainings]
    held_out = [_of_kind(records, "held_out") for records in metrics]
    train = [_of_kind(records, "train") for records in metrics]
    if not any(map(len, train)) and not any(map(len, held_out)):
        return None
    charts = [
        LineChart(
            "loss",
            "Loss",
            "Loss of training batches and of held-out sentences over steps.",
            "step",
            "nats",
            (
                *_lines(names, train, "loss", stroke="thin"),
                *_lines(names, held_out, "loss", marked=True),
            ),
        ),
        LineChart(
            "accuracy",
            "Held-out accuracy",
            "Accuracy on held-out sentences over steps, and chance.",
            "step",
            "%",
            (
                *_lines(names, held_out, "accuracy", factor=100.0, marked=True),
                *_chance_line(held_out),
            ),
            from_zero=True,
        ),
    ]
    drawn = tuple(line_chart(chart) for chart in charts if any(one.points for one in chart.lines))
    width = _width(train[0])
    smooth = f", smoothed over {width} steps" if width > 1 else ""
    caption = (
        "Curves of every training seed; a step is one batch. Lines with marks are of held-out "
        f"sentences, thin ones of training batches{smooth}."
    )
    return Figure(caption, drawn)


def _width(records: Records) -> int:
    return max(1, round(SMOOTHED_SHARE * len(records)))


def _lines(
    names: Sequence[str],
    seeds: Sequence[Records],
    key: str,
    *,
    factor: float = 1.0,
    stroke: Any = "",
    marked: bool = False,
) -> list[Line]:
    found = []
    for place, (name, records) in enumerate(zip(names, seeds, strict=True)):
        known = [record for record in records if record.get(key) is not None]
        values = [factor * float(record[key]) for record in known]
        if not marked:
            values = smoothed(values, _width(known))
        points = list(zip((float(record["step"]) for record in known), values, strict=True))
        if points:
            found.append(Line(name, tuple(_thinned(points)), place % 6, stroke, marked))
    return found


def _thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Returns at most so many points, the first and the last among them."""
    if len(points) <= MOST_POINTS:
        return list(points)
    last = len(points) - 1
    return [points[i * last // (MOST_POINTS - 1)] for i in range(MOST_POINTS)]


def _chance_line(held_out: Sequence[Records]) -> list[Line]:
    records = [record for one in held_out for record in one]
    if not records:
        return []
    chance = _chance(records)
    steps = [float(record["step"]) for record in records]
    ends = ((min(steps), chance), (max(steps), chance))
    return [Line(f"chance, {chance:.2g} %", ends, 6, "dashed")]
