"""From what was measured to a table of cells: ours, the papers' beside them, and notes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from statistics import fmean
from typing import Any

from treeviews.models.evaluation.representation import described
from treeviews.models.evaluation.task_result import (
    Result,
    scored_results,
    shown_setup,
)
from treeviews.models.report.experiment import NOT_HERE, Experiment, Row
from treeviews.models.report.figures import (
    ALL_ROWS,
    NOT_SCORED,
    NOTHING,
    SCORES_OF_ERRORS,
    Figure,
    ScoredEncoder,
    count,
    intervals_note,
    notes_of_tasks,
)
from treeviews.models.report.result_table import (
    HERE,
    Heading,
    Line,
    ResultTable,
    figure_text,
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

    def encoder(self, *, derived: bool) -> ScoredEncoder:
        """Returns the encoder with its results on published or on derived tasks."""
        return ScoredEncoder(self.row.full_title, self.derived if derived else self.seeds)


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
        cells = tuple(measured_figure(scored, column, absent) for column in columns)
        best_by = (scored is best and experiment.best_by) or ""
        lines.append(Line(*called, HERE, cells, scored.scale, best_by, "", scored.folders))
    # Of models of others the corpus is known, and no more.
    scales = {} if row.encoder == NOT_HERE else experiment.scales
    if row.published is not None:
        lines += [
            Line(
                *called,
                published.source,
                tuple(Figure(published.figure(column)) for column in columns),
                scales.get(published.paper, {}).get(published.corpus, published.corpus),
                not_here=row.reason,
            )
            for published in published_beside(row.published, experiment.tables)
            if any(column.name in published.figures for column in columns)
        ]
    nothing = tuple(Figure(reason="" if column.fact else row.reason) for column in columns)
    return lines or [Line(*called, NOTHING, nothing, not_here=row.reason)]


def _best(experiment: Experiment, rows: Sequence[ScoredRow]) -> ScoredRow | None:
    """Returns the trained row that is best by the fact that decides, if all of these have it."""
    decides = next((c for c in experiment.columns if c.fact and c.fact == experiment.best_by), None)
    trained = [row for row in rows if row.row.is_trained]
    values = [measured_figure(row, decides).value for row in trained] if decides else []
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    return trained[known.index(max(known))]


def _training_line(name: str, summaries: Sequence[Summary]) -> tuple[str, ...]:
    """Returns how a training went, in the columns of `TRAININGS`; seconds are of all seeds."""
    summary = summaries[0]
    final = summary["held_out"]["final"]
    accuracy = figure_text(_held_out_accuracy(summaries), Heading(""))
    return (
        name,
        ", ".join(summary["views"]),
        summary["objective"],
        count(summary["num_parameters"]),
        count(summary["train_sentences"]),
        count(num_words(summary)),
        f"{100 * summary['coverage']['known_share']:.1f} %",
        str(summary["epochs"]),
        count(summary["steps"]),
        f"{accuracy} (chance {100 * final['chance']:.1f})" if final["num_sentences"] else NOTHING,
        duration(sum(seed["seconds"] for seed in summaries), digits=1),
    )


def num_words(summary: Summary) -> int:
    """Returns the words of the text that was trained on."""
    return sum(int(summary["coverage"][kind]) for kind in ("exact", "lower_cased", "unknown"))


# Cells.


def measured_figure(
    row: ScoredRow, column: Column, absent: Mapping[str, str] | None = None
) -> Figure:
    """Returns what a row has in a column, over its seeds.

    Args:
        row: what was measured of it.
        column: the column.
        absent: published tasks whose data are not there, with the reason.
    """
    if column.fact is not None:
        return _fact(row, column.fact)
    encoder = row.encoder(derived=column.derived)
    if column.average is not None:
        return encoder.average(column.average)
    (task,) = column.tasks
    figure = encoder.score(task, column.score, times=column.times)
    if figure.value is None and absent and task in absent and not column.derived:
        return Figure(reason=absent[task])
    return figure


def _fact(row: ScoredRow, fact: Fact) -> Figure:
    single = [seed[0] for seed in row.summaries if len(seed) == 1]
    match fact:
        case "dimensions":
            return _dimensions(row)
        case "development score":
            return _development(row)
        case "hours":
            spent = [sum(part["seconds"] for part in seed) for seed in row.summaries]
            return Figure.over([seconds / 3600 for seconds in spent])
        case "parameters":
            return Figure.over([float(summary["num_parameters"]) for summary in single[:1]])
    return _held_out_accuracy(single)


def _held_out_accuracy(summaries: Sequence[Summary]) -> Figure:
    """Returns the accuracy on held-out sentences over seeds, in percent."""
    final = [summary["held_out"]["final"] for summary in summaries]
    if not all(held_out["num_sentences"] for held_out in final):
        return Figure(reason="nothing is held out")
    return Figure.over([100.0 * held_out["accuracy"] for held_out in final])


def _dimensions(row: ScoredRow) -> Figure:
    """Returns the width of a sentence's vector, where a classifier reads it if one does.

    A classifier reads two parts as wide as a sentence of a pair or a passage, side by side.
    """
    seeds, widths = (*row.seeds, *row.derived), []
    for result in (result for seed in seeds for result in scored_results(seed).values()):
        learns = result.setup.learns
        parts = 2 if learns and result.task.features != "sentence" else 1
        widths.append((learns, result.outcome.width // parts))
    return Figure.over([float(max(widths)[1])]) if widths else Figure(reason=NOT_SCORED)


def _development(row: ScoredRow) -> Figure:
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
        return Figure(reason="no task of the table learns")
    return Figure.over(list(map(fmean, scores)))


# Notes: how figures came about, what is absent, how ours differ.

NAMED_BY_ROWS = ("views", "remove_components")
"""Fields of a representation in which rows of one model differ."""


def _notes(
    experiment: Experiment, rows: Sequence[ScoredRow], absent: Mapping[str, str]
) -> list[str]:
    names = {column.name for column in experiment.columns}
    kinds = ([row.encoder(derived=derived) for row in rows] for derived in (False, True))
    encoders = [[encoder for encoder in kind if encoder.seeds] for kind in kinds]
    has_errors = any(column.score in SCORES_OF_ERRORS for column in experiment.columns)
    return [
        intervals_note([encoder for kind in encoders for encoder in kind], has_errors=has_errors),
        *(
            note["text"]
            for note in experiment.notes
            if "columns" not in note or names & {*note["columns"]}
        ),
        *(f"{task}: absent ({reason})" for task, reason in absent.items()),
        *(note for kind in encoders for note in notes_of_tasks(kind, together=ALL_ROWS)),
        *_of_scoring(experiment, rows),
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
