"""Tasks by encoders, from result files: intervals, seeds together, absences named; comparisons."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from pathlib import Path

from treeviews.models.evaluation.averages import (
    AVERAGES,
    AverageDeclaration,
    average_over_tasks,
    lacking,
)
from treeviews.models.evaluation.comparison import Comparison
from treeviews.models.evaluation.representation import described
from treeviews.models.evaluation.task_registry import TASKS
from treeviews.models.evaluation.task_result import (
    Result,
    Setup,
    check_same_data,
    check_seeds,
    corpora_of,
    read_results,
    scored_results,
    shown_setup,
)
from treeviews.models.report.figures import (
    NOT_SCORED,
    SCORES_OF_ERRORS,
    Figure,
    ScoredEncoder,
    derived_notes,
    intervals_note,
    notes_of_tasks,
    p_value,
    results_of,
    task_title,
    titles_by_note,
    with_interval,
)
from treeviews.models.report.sections import Section, Table, markdown_section

ABSENT, NOT_EVALUATED, NOT_GIVEN = "absent", "not evaluated", "not given"
_TASK_NAMES = [task.name for task in TASKS]
SCORES_IN_ORDER = (
    *("accuracy", "f1", "pearson", "spearman", "mse"),
    *("pearson_mean", "pearson_weighted", "pearson_all"),
    *("spearman_mean", "spearman_weighted", "spearman_all"),
)


def evaluation_table(
    folders: Sequence[Path], *, by_subset: bool = True, only: Sequence[str] | None = None
) -> str:
    """Returns `evaluation_sections` as Markdown."""
    sections = evaluation_sections(folders, by_subset=by_subset, only=only)
    return "\n\n".join(map(markdown_section, sections))


def evaluation_sections(
    folders: Sequence[Path],
    *,
    by_subset: bool = True,
    only: Sequence[str] | None = None,
) -> list[Section]:
    """Returns the sections of the table: scores, averages, subsets and what was evaluated.

    Args:
        folders: one for each encoder and seed. Encoders of one name, representation and
            classifier are taken for seeds of one another.
        by_subset: whether to give the subsets of similarity tasks, too.
        only: names of the tasks to give; by default all that there are results of.

    Raises:
        FileNotFoundError: a folder without results.
        ValueError: a damaged result, or results of a task on different data.
    """
    results = [read_results(folder) for folder in folders]
    if only is not None:
        results = [{task: seed[task] for task in seed if task in only} for seed in results]
    columns = _columns(results)
    names = {task for seed in results for task in seed}
    declared = [task for task in _TASK_NAMES if task in names]
    tasks = [*declared, *sorted(names.difference(declared))]
    for task in tasks:
        check_same_data(results_of(columns, [task]))
    header = ("task", "score", *(column.title for column in columns))
    scored = {result.task.name for result in results_of(columns, tasks)}
    averages = [average for average in AVERAGES if scored & average.parts.keys()]
    rows = [row for task in tasks for row in _rows(columns, task, subsets=False)]
    rows += _average_rows(columns, averages)
    notes = [
        intervals_note(columns),
        *notes_of_tasks(columns, tasks),
        *_lacks(columns, averages),
        *(f"{average.name}: {average.description}." for average in averages),
    ]
    table = Table("Scores of encoders by task, with intervals", header, rows, range(2))
    sections = [Section.of("Scores", table, notes)]
    subsets = [row for task in tasks for row in _rows(columns, task, subsets=True)]
    if by_subset and subsets:
        table = Table("Scores on subsets of the similarity tasks", header, subsets, range(2))
        sections.append(Section.of("Subsets of the similarity tasks", table))
    return [
        *sections,
        Section.of("What was evaluated", [_origin(one.title, one.setups) for one in columns]),
    ]


def _columns(folders: Sequence[Mapping[str, Result]]) -> list[ScoredEncoder]:
    """Returns the encoders in the order given, seeds together.

    Raises:
        ValueError: the same encoder twice.
    """
    groups: dict[tuple[str, ...], list[Mapping[str, Result]]] = {}
    for results in folders:
        setup = shown_setup(results)
        # Seeds share all of it; classifiers only where something is learnt.
        groups.setdefault((setup.encoder.name, *setup.how_used()), []).append(results)
    for seeds in groups.values():
        check_seeds(list(map(shown_setup, seeds)))
    pairs = zip(_titles(list(groups)), groups.values(), strict=True)
    return [ScoredEncoder(title, tuple(seeds)) for title, seeds in pairs]


def _titles(keys: Sequence[tuple[str, ...]]) -> list[str]:
    """Returns a title each: the encoder; as needed, how it is represented, and the place."""
    named = [(name, described(json.loads(representation))) for name, representation, _ in keys]
    uses = {name: {use for other, use in named if other == name} for name, _ in named}
    titles = [name if len(uses[name]) == 1 else f"{name} ({use})" for name, use in named]
    return [
        title if titles.count(title) == 1 else f"{title} #{place}"
        for place, title in enumerate(titles, start=1)
    ]


def _rows(columns: Sequence[ScoredEncoder], task: str, *, subsets: bool) -> list[list[str]]:
    scored = results_of(columns, [task])
    names = [name for name in scored[0].scores if (":" in name) == subsets] if scored else [""]
    if subsets and len({name.partition(":")[2] for name in names}) < 2:  # its scores are the task's
        return []
    places = {name: place for place, name in enumerate(SCORES_IN_ORDER)}
    names.sort(key=lambda name: (0 if subsets else places.get(name, len(places)), name))
    title = task_title(task, corpora_of(scored))
    return [
        [title, name, *(_score_cell(column, task, name) for column in columns)] for name in names
    ]


def _score_cell(encoder: ScoredEncoder, task: str, score: str) -> str:
    figure = encoder.score(task, score)
    nothing = NOT_EVALUATED if figure.reason == NOT_SCORED else ABSENT
    return figure.text(3 if score in SCORES_OF_ERRORS else 1, nothing=nothing)


def _average_rows(
    columns: Sequence[ScoredEncoder], averages: Sequence[AverageDeclaration]
) -> list[list[str]]:
    """Returns the averages and, if any encoder has them, the mean over derived tasks."""
    rows = [
        [average.name, "", *(column.average(average).text(nothing=NOT_GIVEN) for column in columns)]
        for average in averages
    ]
    derived = [_derived_average(column) for column in columns]
    if any(figure.value is not None for figure in derived):
        cells = (figure.text(nothing=NOT_GIVEN) for figure in derived)
        rows.append(["average of the derived tasks", "accuracy", *cells])
    return rows


def _derived_average(column: ScoredEncoder) -> Figure:
    """Returns the mean over the tasks whose documents are known, if they are of one corpus."""
    if len({*corpora_of(r for seed in column.seeds for r in seed.values()).values()}) > 1:
        return Figure()
    derived = (
        {
            task: result
            for task, result in scored_results(results).items()
            if task in _TASK_NAMES and result.outcome.predictions.clusters is not None
        }
        for results in column.seeds
    )
    return Figure.over([average_over_tasks(results) for results in derived if results])


def _lacks(columns: Sequence[ScoredEncoder], averages: Sequence[AverageDeclaration]) -> list[str]:
    """Returns which tasks averages lack, and of which encoders."""
    notes = (
        (f"{average.name}: not given without {', '.join(sorted(missing))}", column.title)
        for average in averages
        for column in columns
        if (missing := {task for seed in column.seeds for task in lacking(average, seed)})
    )
    return [f"{note}, for {', '.join(titles)}" for note, titles in titles_by_note(notes).items()]


def _origin(title: str, setups: Sequence[Setup]) -> str:
    """Returns which encoder stands under a title, and how it was used."""
    digests = ", ".join(setup.encoder.digest for setup in setups)
    representation, classifier = setups[0].how_used()
    return f"{title}: encoder {digests}; representation {representation}; classifier {classifier}."


# Two encoders.

CORRECTIONS_IN_WORDS = {"holm": "Holm's correction", "none": "no correction"}


def comparison_table(comparison: Comparison) -> str:
    """Returns two encoders' scores and their differences as Markdown, with notes below."""
    config, sides = comparison.config, (comparison.first, comparison.second)
    names = _titles([(setups[0].encoder.name, *setups[0].how_used()) for setups in sides])
    interval = f"difference [{config.resampling.confidence:.0%}]"
    header = ["task", "score", *names, interval, "p", "corrected p"]
    rows = [
        [
            task_title(row.task, comparison.derived),
            row.score,
            *(Figure(*astuple(side)).text() for side in (row.first, row.second)),
            with_interval(row.difference, signed=True),
            p_value(row.p),
            p_value(row.corrected_p),
        ]
        for row in comparison.tasks
    ]
    table = Table("Two encoders by task", header, rows, range(2))
    return markdown_section(Section("", (table, _notes(comparison, names))))


def _notes(comparison: Comparison, names: Sequence[str]) -> list[str]:
    config, drawn = comparison.config, {f"{row.drawn}s" for row in comparison.tasks}
    units = " or ".join(sorted(drawn))
    notes = [
        *map(_origin, names, (comparison.first, comparison.second)),
        f"Paired {config.test} test over {units}, {config.resampling.num_resamples:,} resamples; "
        f"{CORRECTIONS_IN_WORDS[config.correction]} over {len(comparison.tasks)} rows.",
        f"Intervals and p values are about other test {units}, not about another training.",
    ]
    if comparison.average is not None:
        notes.append(
            f"Difference averaged over tasks: {with_interval(comparison.average, signed=True)}. "
            "What is drawn is drawn for all tasks at once."
        )
    absent = (f"{task}: absent ({reason})" for task, reason in comparison.absent.items())
    return [*notes, *derived_notes(comparison.derived), *absent]
