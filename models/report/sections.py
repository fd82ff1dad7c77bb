"""The report's sections, each a function from facts to Markdown."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from models.evaluation.derived.held_out.config import SPLITS
from models.report.inputs import ReportInputs, StageRecord
from models.report.markdown import (
    bullets,
    count,
    duration,
    markdown_table,
    percent,
    section,
    with_interval,
)
from models.report.notes import is_small, listed
from models.report.probing_table import (
    RANDOM_WEIGHTS,
    TRAINED_SEEDS,
    ProbingTable,
    RowComparison,
    SeedSpread,
)
from models.report.rows import PAIR_ROW, is_random_row, is_trained_row

MIN_TEST_ITEMS = 500
"""Test items over all tasks below which the report gives no verdict."""


def run_section(inputs: ReportInputs) -> str:
    """Returns what ran: configuration, commit, versions."""
    versions = [[name, value] for name, value in inputs.versions.items()]
    configuration = json.dumps(inputs.config, indent=1, sort_keys=True, default=str)
    return section(
        "What ran",
        f"Commit: {inputs.commit or 'not known (no git checkout)'}.",
        markdown_table(["package", "version"], versions, num_text_columns=2) if versions else "",
        "Resolved configuration:",
        f"```json\n{configuration}\n```",
    )


def corpus_section(stages: Sequence[StageRecord]) -> str:
    """Returns rows, seconds and rates of each stage, and what it left out, by reason."""
    rows = [
        [
            stage.name,
            count(stage.rows),
            _by_reason(stage.drops),
            _by_reason(stage.not_selected),
            f"{stage.seconds:.1f}",
            count(round(stage.rows / stage.seconds)) if stage.seconds > 0 else "–",
        ]
        for stage in stages
    ]
    return section(
        "Stages",
        markdown_table(["stage", "rows", "refused", "not selected", "seconds", "rows/s"], rows),
        "Rows are what a stage wrote or, in training, embedding and probing, worked through: "
        "sentences times epochs, encoders or rows of the table. A refused sentence stands in the "
        "stage's quarantine file with its reason. One not selected stands in the stage before and "
        "in no quarantine: this stage had no use for it, or it lacks a parse that a stage before "
        "refused. Seconds are summed over shards, so stages that ran side "
        "by side took less time on the clock.",
    )


def _by_reason(counts: Mapping[str, int]) -> str:
    named = (f"{reason.replace('_', ' ')} {count(n)}" for reason, n in sorted(counts.items()) if n)
    return ", ".join(named) or "–"


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
        "Parsers", markdown_table(["kind", "name", "checksum", "scores"], rows, num_text_columns=4)
    )


def origin(inputs: ReportInputs) -> list[str]:
    """Returns what text the report is about and how to repeat it, or nothing where not given."""
    told = []
    if inputs.corpus is not None:
        told.append(f"Text: {inputs.corpus.rstrip('.')}.")
    if inputs.command is not None:
        told.append("Command:")
    if not told:
        return []
    command = [] if inputs.command is None else [f"```sh\n{inputs.command}\n```"]
    return [f"What was run. {' '.join(told)}", *command]


_CONTEXT_ACCURACY = "How often a held-out sentence picks its neighbour from the batch."
MEANING_OF_ACCURACY = {
    "contrastive": _CONTEXT_ACCURACY,
    "discriminative": _CONTEXT_ACCURACY,
    "both": _CONTEXT_ACCURACY,
    "generative": "How often a word of the sentence that follows a held-out one scores higher than "
    "a word drawn at random.",
}
"""What the held-out accuracy of an objective is."""


def training_section(
    summary: Mapping[str, Any],
    further: Sequence[Mapping[str, Any]] = (),
    chances_differ: bool = False,
) -> str:
    """Returns the training's summary and the held-out accuracy beside chance.

    Args:
        further: summaries of the same training from other seeds.
        chances_differ: whether training and held-out batches differ in their candidates.
    """
    skipped = ", ".join(f"{reason} {count(n)}" for reason, n in summary["skipped"].items())
    facts = [
        f"{count(summary['train_sentences'])} training sentences ({skipped or 'none'} skipped), "
        f"{count(summary['held_out_measured'])} held-out ones measured; "
        f"{count(summary['steps'])} steps in "
        f"{summary['epochs']} epochs, {duration(summary['seconds'])}, "
        f"{count(round(summary['sentences_per_second']))} sentences/s",
        f"{count(summary['num_parameters'])} trained parameters",
        f"{percent(100 * summary['coverage']['known_share'])} % of the training tokens have a word "
        "vector",
        f"loss {summary['first_loss']:.3f} at the first step, {summary['final_loss']:.3f} at the "
        "last",
    ]
    return section(
        "Training",
        bullets(facts),
        "![loss and accuracy](loss.png)",
        "Training and held-out batches have different numbers of candidates, as their chances "
        "show, so their losses are not to be compared with each other."
        if chances_differ
        else "",
        "### Held-out accuracy\n\n" + MEANING_OF_ACCURACY[summary["objective"]],
        _context_table(summary, further),
    )


def _context_table(summary: Mapping[str, Any], further: Sequence[Mapping[str, Any]]) -> str:
    measured = [("untrained", summary["held_out"]["untrained"])]
    for one in (summary, *further):
        name = f"trained, seed {one['seed']}" if further else "trained"
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
    header = ["encoder", "accuracy, %", "chance, %", "× chance", "loss", "anchors"]
    return markdown_table(header, rows)


def chance_ratio(measured: Mapping[str, Any]) -> float:
    """Returns how many times chance a context accuracy is; 0 where nothing was measured."""
    chance = float(measured["chance"])
    return float(measured["accuracy"]) / chance if chance > 0 else 0.0


def probing_section(table: ProbingTable, probing: Mapping[str, Any]) -> str:
    """Returns the table of rows and tasks, the comparisons, and the tasks that are absent."""
    absent = [f"**{name}**: {reason}" for name, reason in sorted(probing["absent"].items())]
    titles = _titles(table.tasks, probing)
    return section(
        "Probing",
        "Test accuracy in percent of a logistic regression on each task (Conneau et al. 2018), "
        "on held-out sentences. Intervals: 95 %, bootstrap over what the second table names as "
        "resampled, drawn for all tasks at once.",
        _rows_table(table, titles),
        "![accuracy by task](accuracy_by_task.png)",
        _tasks_table(probing),
        "Tasks absent for want of data:\n\n" + bullets(absent) if absent else "No task is absent.",
        "### Differences on the same test sentences\n\nFirst row minus second, paired bootstrap.",
        _comparison_table(table, titles),
    )


def _titles(tasks: Sequence[str], probing: Mapping[str, Any]) -> list[str]:
    return [
        task.replace("_", " ") + (" (small)" if is_small(probing["tasks"][task]) else "")
        for task in tasks
    ]


def _rows_table(table: ProbingTable, titles: Sequence[str]) -> str:
    header = ["row", "width", *titles, "average [95 %]"]
    body: list[list[str]] = []
    for row in table.rows:
        scores = [percent(row.accuracy(task).value) for task in table.tasks]
        width = str(row.width or "–")
        body.append([row.description, width, *scores, with_interval(row.average)])
    if table.random is not None:
        _insert_spread(body, table, is_random_row, table.random, "random weights")
    if table.trained is not None and table.trained.num_seeds > 1:
        _insert_spread(body, table, is_trained_row, table.trained, "trained")
    return markdown_table(header, body)


def _insert_spread(
    body: list[list[str]],
    table: ProbingTable,
    chosen: Callable[[str], bool],
    spread: SeedSpread,
    name: str,
) -> None:
    """Puts the mean over seeds below the last of its rows."""
    figures = [f"{mean:.1f} ± {deviation:.1f}" for mean, deviation in spread.tasks.values()]
    average = f"{spread.average:.1f} ± {spread.deviation:.1f}"
    place = max(i for i, row in enumerate(table.rows) if chosen(row.name))
    body.insert(place + 1, [spread.title(name), body[place][1], *figures, average])


def _tasks_table(probing: Mapping[str, Any]) -> str:
    rows = [
        [
            title,
            task["label_rule"],
            task["split_by"].replace("_", " "),
            f"{count(task['num_resampled'])} {task['resampled_by']}s",
            str(len(task["classes"])),
            " / ".join(count(task["sizes"][split]) for split in SPLITS),
            percent(task["chance"]),
        ]
        for title, task in zip(
            _titles(list(probing["tasks"]), probing), probing["tasks"].values(), strict=True
        )
    ]
    header = ["task", "label", "split by", "resampled", "classes", "train / dev / test", "chance"]
    return markdown_table(header, rows, num_text_columns=4) + (
        "\n\nChance is the accuracy of always answering the commonest class of the training split."
    )


def _comparison_table(table: ProbingTable, titles: Sequence[str]) -> str:
    rows = [
        [
            f"{_compared(c.first)} − {_compared(c.second)}",
            *(f"{c.tasks[task].value:+.1f}" for task in table.tasks),
            with_interval(c.difference, signed=True),
            with_interval(c.over_items, signed=True),
        ]
        for c in table.comparisons
    ]
    header = ["rows", *titles, "average over tasks [95 %]", "over all test items [95 %]"]
    return markdown_table(header, rows)


def _compared(name: str) -> str:
    """Returns what a compared row is called; ids say pair also of one view or three."""
    return "trained" if name in (PAIR_ROW, TRAINED_SEEDS) else name.replace("_", " ")


def statement(table: ProbingTable, probing: Mapping[str, Any]) -> str:
    """Returns in words whether the trained model beats the same architecture untrained."""
    built, wanted = len(probing["tasks"]), len(probing["tasks"]) + len(probing["absent"])
    num_items = sum(task["sizes"]["test"] for task in probing["tasks"].values())
    if 2 * built < wanted or num_items < MIN_TEST_ITEMS:
        tasks = f"Only {built} of {wanted}" if built < wanted else f"All {wanted}"
        return (
            f"{tasks} tasks could be built, {count(num_items)} test items: too little for a "
            "verdict."
        )
    for comparison in table.comparisons:
        if comparison.first in (PAIR_ROW, TRAINED_SEEDS) and comparison.second == RANDOM_WEIGHTS:
            return _verdict(comparison, table)
    return "No row with random weights was evaluated, so what training adds is not known."


def _verdict(comparison: RowComparison, table: ProbingTable) -> str:
    better = [task for task, d in comparison.tasks.items() if d.low > 0]
    worse = [task for task, d in comparison.tasks.items() if d.high < 0]
    seeds = ""
    if table.trained is not None and table.trained.num_seeds > 1:
        seeds = f" (mean over {table.trained.num_seeds} training seeds)"
    return (
        f"**The trained model {comparison.verdict} the same architecture with random "
        f"weights** on the average of the probing tasks{seeds}: "
        f"{with_interval(comparison.difference, signed=True)} points; over all test items, "
        f"whatever their task, {with_interval(comparison.over_items, signed=True)}. "
        f"Better by more than its interval on: {listed(better)}; worse on: {listed(worse)}."
    )
