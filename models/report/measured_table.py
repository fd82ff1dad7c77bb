"""From what was measured to a table of cells: ours, the papers' beside them, and notes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from statistics import fmean
from typing import Any

from treeviews.models.evaluation.averages import (
    AverageDeclaration,
    average_value,
    lacking,
    published_average,
)
from treeviews.models.evaluation.representation import described
from treeviews.models.evaluation.resampling import Interval, over_seeds
from treeviews.models.evaluation.task_result import (
    AbsentResult,
    Result,
    TaskResult,
    corpora_of,
    scored_results,
    shown_setup,
)
from treeviews.models.report.evaluation_table import (
    EncoderColumn,
    absence_notes,
    by_task,
    intervals_note,
)
from treeviews.models.report.experiment import NOT_HERE, Experiment, Row
from treeviews.models.report.result_table import (
    HERE,
    NOTHING,
    Cell,
    Heading,
    Line,
    ResultTable,
    figure,
)
from treeviews.models.report.score_text import (
    SCORES_OF_ERRORS,
    count,
    derived_notes,
    doubts,
    percent,
)
from treeviews.models.report.table_columns import PAPERS, Column, Fact, published_beside
from treeviews.models.training.training_job import duration

# What was measured.

Summary = Mapping[str, Any]
"""What a training says of itself, its ``summary.json``."""


@dataclass(frozen=True, slots=True)
class ScoredRow:
    """A row with the results of its encoders."""

    row: Row
    seeds: tuple[Mapping[str, Result], ...]
    """By the name of the task, one mapping a seed."""
    derived: tuple[Mapping[str, Result], ...] = ()
    """The same of tasks that are derived from the corpus."""
    scale: str = ""
    summaries: tuple[tuple[Summary, ...], ...] = ()
    """Of what was trained for it, one tuple a seed; joined models have several."""
    folders: tuple[str, ...] = ()
    """Of the results, one a seed, within the table's folder."""


def assemble_table(
    experiment: Experiment,
    rows: Sequence[ScoredRow],
    trainings: Mapping[str, Sequence[Summary]],
    *,
    about: Sequence[str] = (),
    absent: Mapping[str, str] | None = None,
) -> ResultTable:
    """Returns the table of what was measured.

    Args:
        experiment: with the columns that were asked for.
        rows: one a row of the experiment that an encoder stands behind.
        trainings: the summaries of each training that went through, one a seed, by its name.
        about: further notes, of what was trained on what.
        absent: SentEval's tasks whose data are not there, with the reason.
    """
    by_title = {scored.row.full_title: scored for scored in rows}
    best = _best(experiment, rows)
    lines = [
        line
        for row in experiment.rows
        for line in _lines(experiment, row, by_title.get(row.full_title), best, absent or {})
    ]
    letters = {line.source[:1] for line in lines if not line.is_measured}
    papers = [f"{letter}: {paper}" for letter, paper in PAPERS.items() if letter in letters]
    return ResultTable(
        name=experiment.name,
        title=experiment.title,
        tables=experiment.tables,
        columns=tuple(map(_heading, experiment.columns)),
        lines=tuple(lines),
        notes=(
            *([f"{'; '.join(papers)}."] if papers else []),
            *_notes(experiment, rows, absent or {}),
            *about,
        ),
        trainings=tuple(_training_line(*item) for item in trainings.items()),
    )


def _heading(column: Column) -> Heading:
    digits = {"dimensions": 0, "parameters": 0, "hours": 2}.get(column.fact or "", 1)
    return Heading(column.name, digits, column.fact is not None)


def _lines(
    experiment: Experiment,
    row: Row,
    scored: ScoredRow | None,
    best: ScoredRow | None,
    absent: Mapping[str, str],
) -> list[Line]:
    """Returns the measured line of a row, then one for each corpus a paper gives columns of."""
    called, columns = (row.title, row.taken, row.group), experiment.columns
    lines = []
    if scored is not None:
        cells = tuple(measured_cell(scored, column, absent) for column in columns)
        best_by = (scored is best and experiment.best_by) or ""
        lines.append(Line(*called, HERE, cells, scored.scale, best_by, "", scored.folders))
    # Of models of others the corpus is known, and no more.
    scales = {} if row.encoder == NOT_HERE else experiment.scales
    if row.published is not None:
        lines += [
            Line(
                *called,
                published.source,
                tuple(Cell(published.figure(column)) for column in columns),
                scales.get(published.paper, {}).get(published.corpus, published.corpus),
                not_here=row.reason,
            )
            for published in published_beside(row.published, experiment.tables)
            if any(column.name in published.figures for column in columns)
        ]
    nothing = tuple(Cell(reason="" if column.fact else row.reason) for column in columns)
    return lines or [Line(*called, NOTHING, nothing, not_here=row.reason)]


def _best(experiment: Experiment, rows: Sequence[ScoredRow]) -> ScoredRow | None:
    """Returns the trained row that is best by the fact that decides, if all of these have it."""
    decides = next((c for c in experiment.columns if c.fact == experiment.best_by), None)
    if experiment.best_by is None or decides is None:
        return None
    values = {
        place: measured_cell(row, decides).value
        for place, row in enumerate(rows)
        if row.row.is_trained
    }
    known = {place: value for place, value in values.items() if value is not None}
    if not known or len(known) < len(values):
        return None
    return rows[max(known, key=lambda place: known[place])]


def _training_line(name: str, summaries: Sequence[Summary]) -> tuple[str, ...]:
    """Returns how a training went, in the columns of `TRAININGS`; seconds are of all seeds."""
    summary = summaries[0]
    final = summary["held_out"]["final"]
    accuracy = figure(_held_out_accuracy(summaries), Heading(""))
    return (
        name,
        ", ".join(summary["views"]),
        summary["objective"],
        count(summary["num_parameters"]),
        count(summary["train_sentences"]),
        count(num_words(summary)),
        f"{percent(100 * summary['coverage']['known_share'])} %",
        str(summary["epochs"]),
        count(summary["steps"]),
        f"{accuracy} (chance {100 * final['chance']:.1f})" if final["num_sentences"] else NOTHING,
        duration(sum(seed["seconds"] for seed in summaries), digits=1),
    )


def num_words(summary: Summary) -> int:
    """Returns the words of the text that was trained on."""
    return sum(int(summary["coverage"][kind]) for kind in ("exact", "lower_cased", "unknown"))


# Cells.

NOT_SCORED = "not scored"


def measured_cell(row: ScoredRow, column: Column, absent: Mapping[str, str] | None = None) -> Cell:
    """Returns what a row has in a column, over its seeds.

    Args:
        row: what was measured of it.
        column: the column.
        absent: tasks whose data are not there, with the reason.
    """
    if column.fact is not None:
        return _fact(row, column.fact)
    seeds = row.derived if column.derived else row.seeds
    if column.average is not None:
        return _average(column.average, seeds)
    (task,) = column.tasks
    results = [seed.get(task) for seed in seeds]
    scored = [result for result in results if isinstance(result, TaskResult)]
    if not scored or len(scored) < len(results):
        absences = (result.reason for result in results if isinstance(result, AbsentResult))
        reason = next(absences, NOT_SCORED)
        return Cell(reason=reason if column.derived else (absent or {}).get(task, reason))
    if any(column.score not in result.scores for result in scored):
        return Cell(reason=f"{task} has no score {column.score}")
    return _over_cells([result.scores[column.score] for result in scored], times=column.times)


def _over_cells(seeds: Sequence[Interval], *, times: float = 1.0) -> Cell:
    """Returns one figure a seed as a cell: a single one with its interval."""
    if len(seeds) > 1:
        return _over_values([times * seed.value for seed in seeds])
    (seed,) = seeds
    return Cell(times * seed.value, None, 1, times * seed.low, times * seed.high)


def _over_values(values: Sequence[float]) -> Cell:
    """Returns figures without intervals, one a seed, as a cell; without any, an empty one."""
    if not values:
        return Cell()
    mean = over_seeds(values)
    return Cell(mean.mean, mean.deviation, mean.num_seeds)


def _average(declared: AverageDeclaration, seeds: Sequence[Mapping[str, Result]]) -> Cell:
    missing = sorted({task for results in seeds or ({},) for task in lacking(declared, results)})
    if missing:
        return Cell(reason=f"without {', '.join(missing)} it would be another figure")
    if len(seeds) == 1:
        return _over_cells([published_average(declared, seeds[0])])
    return _over_values([average_value(declared, results) for results in seeds])


def _fact(row: ScoredRow, fact: Fact) -> Cell:
    single = [seed[0] for seed in row.summaries if len(seed) == 1]
    match fact:
        case "dimensions":
            return _dimensions(row)
        case "development score":
            return _development(row)
        case "hours":
            spent = [sum(part["seconds"] for part in seed) for seed in row.summaries]
            return _over_values([seconds / 3600 for seconds in spent])
        case "parameters":
            return _over_values([float(summary["num_parameters"]) for summary in single[:1]])
    return _held_out_accuracy(single)


def _held_out_accuracy(summaries: Sequence[Summary]) -> Cell:
    """Returns the accuracy on held-out sentences over seeds, in percent."""
    final = [summary["held_out"]["final"] for summary in summaries]
    if not all(held_out["num_sentences"] for held_out in final):
        return Cell(reason="nothing is held out")
    return _over_values([100.0 * held_out["accuracy"] for held_out in final])


def _dimensions(row: ScoredRow) -> Cell:
    """Returns the width of a sentence's vector, where a classifier reads it if one does.

    A classifier reads two parts as wide as a sentence of a pair or a passage, side by side.
    """
    seeds, widths = (*row.seeds, *row.derived), []
    for result in (result for seed in seeds for result in scored_results(seed).values()):
        learns = result.setup.learns
        parts = 2 if learns and result.task.features != "sentence" else 1
        widths.append((learns, result.outcome.width // parts))
    return _over_values([float(max(widths)[1])]) if widths else Cell(reason=NOT_SCORED)


def _development(row: ScoredRow) -> Cell:
    """Returns the mean development score of all tasks that learn."""
    nothing: Mapping[str, Result] = {}
    scores = [
        [
            result.outcome.dev_score
            for results in seed
            for result in scored_results(results).values()
            if result.outcome.dev_score is not None
        ]
        for seed in zip_longest(row.seeds, row.derived, fillvalue=nothing)
    ]
    if not all(scores):
        return Cell(reason="no task of the table learns")
    return _over_values(list(map(fmean, scores)))


# Notes: how figures came about, what is absent, how ours differ.

NAMED_BY_ROWS = ("views", "remove_components")
"""Fields of a representation in which rows of one model differ."""


def _notes(
    experiment: Experiment, rows: Sequence[ScoredRow], absent: Mapping[str, str]
) -> list[str]:
    names = {column.name for column in experiment.columns}
    encoders = [
        [EncoderColumn(row.row.full_title, seeds) for row, seeds in kind if seeds]
        for kind in zip(*(((row, row.seeds), (row, row.derived)) for row in rows), strict=True)
    ]
    has_errors = any(column.score in SCORES_OF_ERRORS for column in experiment.columns)
    return [
        intervals_note([encoder for kind in encoders for encoder in kind], has_errors=has_errors),
        *(
            note["text"]
            for note in experiment.notes
            if "columns" not in note or names & {*note["columns"]}
        ),
        *(f"{task}: absent ({reason})" for task, reason in absent.items()),
        *(note for kind in encoders for note in _of_tasks(kind)),
        *_of_scoring(experiment, rows),
    ]


def _of_tasks(columns: Sequence[EncoderColumn]) -> list[str]:
    tasks = list(
        dict.fromkeys(task for column in columns for seed in column.seeds for task in seed)
    )
    scored = by_task(columns, tasks)
    return [
        *absence_notes(columns, tasks),
        *doubts("All rows together", scored),
        *derived_notes(corpora_of(result for results in scored.values() for result in results)),
    ]


def _of_scoring(experiment: Experiment, rows: Sequence[ScoredRow]) -> list[str]:
    """Returns the classifiers, and the representations but for what each row says of its own."""
    setups = [(row.row.title, shown_setup(seed)) for row in rows for seed in row.seeds[:1] if seed]
    learnt = {json.dumps(setup.classifier) for _, setup in setups if setup.learns}
    represented: dict[str, dict[str, None]] = {}
    for title, setup in setups:
        own = {k: v for k, v in setup.representation.items() if k not in NAMED_BY_ROWS}
        represented.setdefault(described(own), {})[title] = None
    differs = (
        "Classifier: an exact logistic regression; the papers used SentEval's package, whose own "
        "is trained by Adam and stops early (--classifier compatibility)."
    )
    return [
        *(f"Where something is learnt: {setting}." for setting in sorted(learnt)),
        *(f"Represented as {how}: {'; '.join(titles)}." for how, titles in represented.items()),
        *(
            [differs]
            if experiment.scales and any("logistic" in setting for setting in learnt)
            else []
        ),
    ]
