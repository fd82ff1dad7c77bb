"""The report's sections, each a function from facts to Markdown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from models.evaluation.probing.config import SPLITS
from models.evaluation.result_files import RowResult
from models.evaluation.rows import MAJORITY_ROW, PAIR_ROW
from models.report.inputs import ReportInputs, StageRecord
from models.report.markdown import bullets, count, duration, percent, section, table, with_interval
from models.report.probing_table import RANDOM_PREFIX, Comparison, RandomWeights

SMALL_TEST = 200
"""Test sentences below which the notes warn of a wide interval."""


def run_section(inputs: ReportInputs) -> str:
    """Returns what ran: configuration, commit, versions."""
    versions = [[name, value] for name, value in inputs.versions.items()]
    configuration = json.dumps(inputs.config, indent=1, sort_keys=True, default=str)
    return section(
        "What ran",
        f"Commit: {inputs.commit or 'not known (no git checkout)'}.",
        table(["package", "version"], versions, num_text_columns=2) if versions else "",
        "Resolved configuration:",
        f"```json\n{configuration}\n```",
    )


def corpus_section(stages: Sequence[StageRecord]) -> str:
    """Returns rows, drops by reason, seconds and rates of each stage."""
    rows = [
        [
            stage.name,
            count(stage.rows),
            ", ".join(f"{reason} {count(n)}" for reason, n in sorted(stage.drops.items())) or "–",
            f"{stage.seconds:.1f}",
            count(round(stage.rows / stage.seconds)) if stage.seconds > 0 else "–",
        ]
        for stage in stages
    ]
    return section(
        "Stages",
        table(["stage", "rows", "refused, by reason", "seconds", "rows/s"], rows),
        "Seconds are summed over shards, so stages that ran side by side took less time on the "
        "clock. A refused sentence is in the stage's quarantine file with its reason.",
    )


def parsers_section(parsers: Sequence[Mapping[str, Any]]) -> str:
    """Returns the parsers used and the scores of their cards."""
    if not parsers:
        return section("Parsers", "None recorded.")
    rows = [
        [
            str(parser.get("kind", "–")),
            str(parser.get("name", "–")),
            str(parser.get("checksum", "–"))[:12],
            ", ".join(f"{key} {value}" for key, value in (parser.get("scores") or {}).items())
            or "none in its card",
        ]
        for parser in parsers
    ]
    return section(
        "Parsers", table(["kind", "name", "checksum", "scores"], rows, num_text_columns=4)
    )


def training_section(summary: Mapping[str, Any]) -> str:
    """Returns the training's summary and the held-out context accuracy beside chance."""
    skipped = ", ".join(f"{reason} {count(n)}" for reason, n in summary["skipped"].items())
    sentences = (
        f"{count(summary['train_sentences'])} training sentences ({skipped or 'none'} skipped), "
        f"{count(summary['held_out_sentences'])} held out"
    )
    facts = [
        f"{sentences}; {count(summary['steps'])} steps in {summary['epochs']} epochs, "
        f"{duration(summary['seconds'])}, {count(round(summary['sentences_per_second']))} "
        "sentences/s",
        f"{count(summary['num_parameters'])} trained parameters",
        f"{percent(100 * summary['coverage']['known_share'])} % of the training tokens have a word "
        "vector",
        f"loss {summary['first_loss']:.3f} at the first step, {summary['final_loss']:.3f} at the "
        "last",
    ]
    held_out = summary["held_out"]
    rows = [
        [
            name,
            f"{100 * measured['accuracy']:.2f}",
            f"{100 * measured['chance']:.2f}",
            f"{chance_ratio(measured):.1f}",
            f"{measured['loss']:.3f}",
            count(measured["num_anchors"]),
        ]
        for name, measured in (("untrained", held_out["untrained"]), ("trained", held_out["final"]))
    ]
    header = ["encoder", "accuracy, %", "chance, %", "× chance", "loss", "anchors"]
    return section(
        "Training",
        bullets(facts),
        "![loss and accuracy](loss.png)",
        "### Held-out context accuracy\n\nHow often a sentence of a held-out document picks its "
        "neighbour from the batch.",
        table(header, rows),
    )


def chance_ratio(measured: Mapping[str, Any]) -> float:
    """Returns how many times chance a context accuracy is; 0 where nothing was measured."""
    chance = float(measured["chance"])
    return float(measured["accuracy"]) / chance if chance > 0 else 0.0


def probing_section(
    rows: Sequence[RowResult],
    random: RandomWeights | None,
    probing: Mapping[str, Any],
    compared: Sequence[Comparison],
) -> str:
    """Returns the table of rows and tasks, the comparisons, and the tasks that are absent."""
    absent = [f"**{name}**: {reason}" for name, reason in sorted(probing["absent"].items())]
    return section(
        "Probing",
        "Test accuracy in percent of a logistic regression on each task (Conneau et al. 2018), "
        "on sentences of held-out documents.",
        _rows_table(rows, random),
        "![accuracy by task](accuracy_by_task.png)",
        _tasks_table(probing),
        "Tasks absent for want of data:\n\n" + bullets(absent) if absent else "No task is absent.",
        "### Differences on the same test sentences\n\nFirst row minus second, paired bootstrap.",
        _comparison_table(compared, list(rows[0].result.tasks)),
    )


def _rows_table(rows: Sequence[RowResult], random: RandomWeights | None) -> str:
    tasks = list(rows[0].result.tasks)
    header = ["row", "width", *(task.replace("_", " ") for task in tasks), "average [95 %]"]
    body: list[list[str]] = []
    for row in rows:
        scores = [percent(row.result.tasks[task].accuracy.value) for task in tasks]
        width = str(row.result.width or "–")
        body.append([row.description, width, *scores, with_interval(row.result.average)])
    if random is not None:
        spread = [f"{mean:.1f} ± {deviation:.1f}" for mean, deviation in random.tasks.values()]
        average = f"{random.average:.1f} ± {random.deviation:.1f}"
        name = f"random weights, mean ± sd over {random.num_seeds} seeds"
        place = 1 + max(i for i, row in enumerate(rows) if row.name.startswith(RANDOM_PREFIX))
        body.insert(place, [name, body[place - 1][1], *spread, average])
    return table(header, body)


def _tasks_table(probing: Mapping[str, Any]) -> str:
    rows = [
        [
            name.replace("_", " "),
            task["label_rule"],
            task["split_by"].replace("_", " "),
            str(len(task["classes"])),
            " / ".join(count(task["sizes"][split]) for split in SPLITS),
            percent(task["chance"]),
        ]
        for name, task in probing["tasks"].items()
    ]
    header = ["task", "label", "split by", "classes", "train / dev / test", "chance"]
    return table(header, rows, num_text_columns=3)


def _comparison_table(compared: Sequence[Comparison], tasks: Sequence[str]) -> str:
    rows = [
        [
            f"{c.first.replace('_', ' ')} − {c.second.replace('_', ' ')}",
            *(f"{c.tasks[task].value:+.1f}" for task in tasks),
            with_interval(c.difference, signed=True),
        ]
        for c in compared
    ]
    return table(["rows", *(task.replace("_", " ") for task in tasks), "average [95 %]"], rows)


def statement(compared: Sequence[Comparison]) -> str:
    """Returns in words whether the trained pair beats the same architecture untrained."""
    for comparison in compared:
        if (comparison.first, comparison.second) == (PAIR_ROW, "random weights"):
            better = [task for task, d in comparison.tasks.items() if d.low > 0]
            worse = [task for task, d in comparison.tasks.items() if d.high < 0]
            return (
                f"**The trained pair {comparison.verdict} the same architecture with random "
                f"weights** on the average of the probing tasks: "
                f"{with_interval(comparison.difference, signed=True)} points. "
                f"Better by more than its interval on: {_listed(better)}; worse on: "
                f"{_listed(worse)}."
            )
    return "No row with random weights was evaluated, so what training adds is not known."


def _listed(tasks: Sequence[str]) -> str:
    return ", ".join(task.replace("_", " ") for task in tasks) or "none"


def notes_section(
    rows: Sequence[RowResult], random: RandomWeights | None, probing: Mapping[str, Any]
) -> str:
    """Returns what a reader must know before quoting a figure."""
    notes = [
        "One training seed was run: how far a row moves from seed to seed of training is not "
        "measured, and the intervals cover the choice of test sentences alone.",
        "Labels come from the automatic parses. Tree encoders read the same parses, so on tasks "
        "whose label is a property of the tree they see what sequences and bags of words must "
        "infer.",
    ]
    small = [name for name, task in probing["tasks"].items() if task["sizes"]["test"] < SMALL_TEST]
    if small:
        notes.append(f"Fewer than {SMALL_TEST} test sentences: {_listed(small)}.")
    fits = [t for row in rows if row.name != MAJORITY_ROW for t in row.result.tasks.values()]
    if edges := sum(fit.at_grid_edge for fit in fits):
        notes.append(
            f"In {edges} of {len(fits)} fits the best regulariser was the smallest or largest "
            "offered, so a wider grid might do better."
        )
    if random is not None and random.num_seeds < 3:
        notes.append(f"Random weights were drawn from {random.num_seeds} seeds only.")
    differing = [
        f"{name.replace('_', ' ')}: {task['differs']}"
        for name, task in probing["tasks"].items()
        if task["differs"]
    ]
    excluded = ", ".join(
        f"{reason.replace('_', ' ')} {count(n)}" for reason, n in probing["excluded"].items()
    )
    notes.append(f"Held-out sentences left out of all probing tasks: {excluded}.")
    return section(
        "Notes",
        bullets(notes),
        "How the tasks differ from the published ones:" if differing else "",
        bullets(differing),
    )
