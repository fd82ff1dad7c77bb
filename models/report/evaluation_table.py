"""Tasks by encoders, from result files: intervals, seeds together, absences named; comparisons."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from treeviews.models.evaluation.averages import (
    AVERAGES,
    AverageDeclaration,
    average_over_tasks,
    average_value,
    lacking,
    published_average,
)
from treeviews.models.evaluation.comparison import Comparison
from treeviews.models.evaluation.representation import described
from treeviews.models.evaluation.resampling import Interval, over_seeds
from treeviews.models.evaluation.task_registry import TASKS
from treeviews.models.evaluation.task_result import (
    AbsentResult,
    Result,
    Setup,
    TaskResult,
    corpora_of,
    read_results,
    scored_results,
    shown_setup,
)
from treeviews.models.report.score_text import (
    SCORES_OF_ERRORS,
    derived_notes,
    digits_of,
    doubts,
    p_value,
    task_title,
    with_interval,
    with_seeds,
)
from treeviews.models.report.sections import Section, Table, markdown_section

ABSENT, NOT_EVALUATED, NOT_GIVEN = "absent", "not evaluated", "not given"
_TASK_NAMES = [task.name for task in TASKS]
SCORES_IN_ORDER = (
    *("accuracy", "f1", "pearson", "spearman", "mse"),
    *("pearson_mean", "pearson_weighted", "pearson_all"),
    *("spearman_mean", "spearman_weighted", "spearman_all"),
)


@dataclass(frozen=True, slots=True)
class EncoderColumn:
    """One encoder, with the results of each of its seeds by task."""

    title: str
    seeds: tuple[Mapping[str, Result], ...]

    @property
    def setups(self) -> list[Setup]:
        """How each seed was evaluated."""
        return list(map(shown_setup, self.seeds))

    @property
    def scored(self) -> list[TaskResult]:
        """All results of its seeds but the absent ones."""
        return [result for results in self.seeds for result in scored_results(results).values()]

    def of_task(self, task: str) -> list[TaskResult]:
        """Returns the results of the seeds that were scored on a task."""
        return [result for result in self.scored if result.task.name == task]

    def why_not(self, task: str) -> str | None:
        """Returns why a task was not scored, or None where no seed was to be."""
        results = [seed.get(task) for seed in self.seeds]
        return next((one.reason for one in results if isinstance(one, AbsentResult)), None)


def by_task(columns: Sequence[EncoderColumn], tasks: Sequence[str]) -> dict[str, list[TaskResult]]:
    """Returns all results of each task that any encoder was scored on."""
    results = {task: [one for column in columns for one in column.of_task(task)] for task in tasks}
    return {task: scored for task, scored in results.items() if scored}


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
        ValueError: no folder, a damaged result, or results of a task on different data.
    """
    results = [read_results(folder) for folder in folders]
    if only is not None:
        results = [{task: seed[task] for task in seed if task in only} for seed in results]
    columns = _columns(results)
    names = {task for seed in results for task in seed}
    declared = [task for task in _TASK_NAMES if task in names]
    tasks = [*declared, *sorted(names.difference(declared))]
    _check_same_data(columns, tasks)
    header = ("task", "score", *(column.title for column in columns))
    scored = [result for task in tasks for column in columns for result in column.of_task(task)]
    needed = {result.task.name for result in scored}
    averages = [average for average in AVERAGES if needed & average.parts.keys()]
    rows = [row for task in tasks for row in _rows(columns, task, subsets=False)]
    rows += _average_rows(columns, averages)
    notes = [
        intervals_note(columns),
        *absence_notes(columns, tasks),
        *_lacks(columns, averages),
        *(note for one in columns for note in doubts(one.title, by_task([one], tasks))),
        *derived_notes(corpora_of(scored)),
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


def _columns(folders: Sequence[Mapping[str, Result]]) -> list[EncoderColumn]:
    """Returns the encoders in the order given, seeds together.

    Raises:
        ValueError: no folder, or the same encoder twice.
    """
    if not folders:
        raise ValueError("a table needs at least one folder of task results")
    groups: dict[tuple[str, ...], list[Mapping[str, Result]]] = {}
    for results in folders:
        setup = shown_setup(results)
        # Seeds share all of it; classifiers only where something is learnt.
        groups.setdefault((setup.encoder.name, *setup.how_used()), []).append(results)
    for (encoder, *_), seeds in groups.items():
        if len({shown_setup(seed).encoder.digest for seed in seeds}) < len(seeds):
            raise ValueError(f"{encoder}: two folders hold the same encoder; give each seed once")
    pairs = zip(_titles(list(groups)), groups.values(), strict=True)
    return [EncoderColumn(title, tuple(seeds)) for title, seeds in pairs]


def _titles(keys: Sequence[tuple[str, ...]]) -> list[str]:
    """Returns a title each: the encoder; as needed, how it is represented, and the place."""
    named = [(name, described(json.loads(representation))) for name, representation, _ in keys]
    uses = {name: {use for other, use in named if other == name} for name, _ in named}
    titles = [name if len(uses[name]) == 1 else f"{name} ({use})" for name, use in named]
    return [
        title if titles.count(title) == 1 else f"{title} #{place}"
        for place, title in enumerate(titles, start=1)
    ]


def _check_same_data(columns: Sequence[EncoderColumn], tasks: Sequence[str]) -> None:
    """Refuses results of a task on different data.

    Raises:
        ValueError: names the task and the data's digests.
    """
    for task in tasks:
        digests = {result.data.digest for column in columns for result in column.of_task(task)}
        if len(digests) > 1:
            raise ValueError(
                f"{task}: the encoders were scored on different data ({', '.join(sorted(digests))})"
                "; evaluate all on the same files"
            )


def _rows(columns: Sequence[EncoderColumn], task: str, *, subsets: bool) -> list[list[str]]:
    scored = [result for column in columns for result in column.of_task(task)]
    names = [name for name in scored[0].scores if (":" in name) == subsets] if scored else [""]
    if subsets and len({name.partition(":")[2] for name in names}) < 2:  # its scores are the task's
        return []
    places = {name: place for place, name in enumerate(SCORES_IN_ORDER)}
    names.sort(key=lambda name: (0 if subsets else places.get(name, len(places)), name))
    title = task_title(task, corpora_of(scored))
    return [
        [title, name, *(_score_cell(column, task, name) for column in columns)] for name in names
    ]


def _score_cell(column: EncoderColumn, task: str, score: str) -> str:
    """Returns a score with its interval, over seeds with their deviation, or why there is none."""
    results = column.of_task(task)
    if not results:
        return NOT_EVALUATED if column.why_not(task) is None else ABSENT
    return _figure([result.scores[score] for result in results], digits=digits_of(score))


def _figure(seeds: Sequence[Interval], digits: int = 1) -> str:
    if len(seeds) == 1:
        return with_interval(seeds[0], digits=digits)
    return with_seeds(over_seeds([seed.value for seed in seeds]), digits=digits)


def _average_rows(
    columns: Sequence[EncoderColumn], averages: Sequence[AverageDeclaration]
) -> list[list[str]]:
    """Returns the averages and, if any encoder has them, the mean over derived tasks."""
    rows = [
        [average.name, "", *(_average_cell(column, average) for column in columns)]
        for average in averages
    ]
    derived = [_derived_average(column) for column in columns]
    if any(cell != NOT_GIVEN for cell in derived):
        rows.append(["average of the derived tasks", "accuracy", *derived])
    return rows


def _average_cell(column: EncoderColumn, average: AverageDeclaration) -> str:
    if any(lacking(average, seed) for seed in column.seeds):
        return NOT_GIVEN
    if len(column.seeds) == 1:
        return with_interval(published_average(average, column.seeds[0]))
    return with_seeds(over_seeds([average_value(average, seed) for seed in column.seeds]))


def _derived_average(column: EncoderColumn) -> str:
    """Returns the mean over the tasks whose documents are known, if they are of one corpus."""
    if len({*corpora_of(r for seed in column.seeds for r in seed.values()).values()}) > 1:
        return NOT_GIVEN
    derived = (
        {
            task: result
            for task, result in scored_results(results).items()
            if task in _TASK_NAMES and result.outcome.predictions.clusters is not None
        }
        for results in column.seeds
    )
    averages = [average_over_tasks(results) for results in derived if results]
    return _figure(averages) if averages else NOT_GIVEN


def _lacks(columns: Sequence[EncoderColumn], averages: Sequence[AverageDeclaration]) -> list[str]:
    """Returns which tasks averages lack, and of which encoders."""
    notes: dict[str, list[str]] = {}
    for average in averages:
        for column in columns:
            if missing := {task for seed in column.seeds for task in lacking(average, seed)}:
                note = f"{average.name}: not given without {', '.join(sorted(missing))}"
                notes.setdefault(note, []).append(column.title)
    return [f"{note}, for {', '.join(titles)}" for note, titles in notes.items()]


def absence_notes(columns: Sequence[EncoderColumn], tasks: Sequence[str]) -> list[str]:
    """Returns which tasks were not scored, why, and of which encoders."""
    notes: dict[str, list[str]] = {}
    for task in tasks:
        for column in columns:
            reason = column.why_not(task)
            if reason is not None:
                notes.setdefault(f"{task}: absent ({reason})", []).append(column.title)
    return [
        note if len(titles) == len(columns) else f"{note}, for {', '.join(titles)}"
        for note, titles in notes.items()
    ]


def intervals_note(columns: Sequence[EncoderColumn], *, has_errors: bool = True) -> str:
    """Returns what stands in brackets and behind ±.

    Args:
        has_errors: whether there are scores of which the lower is the better.
    """
    confidence = {f"{one.resampling.confidence:.0%}" for column in columns for one in column.scored}
    note = (
        f"In brackets: bootstrap interval over test items ({', '.join(sorted(confidence))})."
        if confidence
        else "Nothing was scored."
    )
    if any(len(column.seeds) > 1 for column in columns):
        note += " With ±: mean and standard deviation over seeds, their number in parentheses."
    errors = f" Of {', '.join(sorted(SCORES_OF_ERRORS))} the lower is the better."
    return note + errors * has_errors


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
            with_seeds(row.first),
            with_seeds(row.second),
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
