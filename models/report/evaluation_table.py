"""Tasks by encoders as Markdown, from result files: intervals, seeds together, absences named."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from models.evaluation.averages import (
    AVERAGES,
    AverageDeclaration,
    average_over_tasks,
    average_value,
    lacking,
    published_averages,
)
from models.evaluation.representation import described
from models.evaluation.resampling import Interval, over_seeds
from models.evaluation.task_registry import TASKS
from models.evaluation.task_result import (
    AbsentResult,
    Result,
    Setup,
    TaskResult,
    corpora_of,
    read_results,
    scored_results,
    shown_setup,
)
from models.report.html.sections import Bullets, Section, Table
from models.report.markdown import (
    SCORES_OF_ERRORS,
    digits_of,
    markdown_section,
    with_interval,
    with_seeds,
)
from models.report.table_notes import derived_notes, doubts, task_title

ABSENT = "absent"
NOT_EVALUATED = "not evaluated"
NOT_GIVEN = "not given"
_TASK_NAMES = frozenset(task.name for task in TASKS)

SCORES_IN_ORDER = (
    "accuracy",
    "f1",
    *("pearson", "spearman", "mse"),
    *("pearson_mean", "pearson_weighted", "pearson_all"),
    *("spearman_mean", "spearman_weighted", "spearman_all"),
)


@dataclass(frozen=True, slots=True)
class EncoderColumn:
    """One encoder, with the results of each of its seeds by task."""

    title: str
    setups: tuple[Setup, ...]
    seeds: tuple[Mapping[str, Result], ...]

    @property
    def scored(self) -> list[TaskResult]:
        """All results of its seeds but the absent ones."""
        return [result for results in self.seeds for result in scored_results(results).values()]

    def of_task(self, task: str) -> list[TaskResult]:
        """Returns the results of the seeds that were scored on a task."""
        return [result for result in self.scored if result.task.name == task]

    def by_task(self, tasks: Sequence[str]) -> dict[str, list[TaskResult]]:
        """Returns those results of all tasks that any seed was scored on."""
        found = {task: self.of_task(task) for task in tasks}
        return {task: results for task, results in found.items() if results}

    def why_not(self, task: str) -> str | None:
        """Returns why a task was not scored, or None where no seed was to be."""
        found = [results.get(task) for results in self.seeds]
        return next((one.reason for one in found if isinstance(one, AbsentResult)), None)


@dataclass(frozen=True, slots=True)
class PublishedColumn:
    """What a paper reports of one model, to stand beside ours."""

    title: str
    """Short, with the paper: ``Simoulin & Crabbé 2021, DEP and CONST``."""
    source: str
    """Where the figures stand, and what is different there: corpus, size, classifier."""
    figures: Mapping[tuple[str, str], float]
    """By task and score, of an average by its name and nothing; in the score's unit."""


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
    published: Sequence[PublishedColumn] = (),
) -> list[Section]:
    """Returns the sections of the table: scores, averages, subsets and what was evaluated.

    Args:
        folders: one for each encoder and seed. Encoders of one name, representation and
            classifier are taken for seeds of one another.
        by_subset: whether to give the subsets of similarity tasks, too.
        only: names of the tasks to give; by default all that there are results of.
        published: columns of papers' figures, behind ours.

    Raises:
        FileNotFoundError: a folder without results.
        ValueError: no folder, a damaged result, or results of a task on different data.
    """
    found = [read_results(folder) for folder in folders]
    if only is not None:
        found = [{name: one[name] for name in one if name in only} for one in found]
    columns = columns_of(found)
    tasks = _tasks(columns)
    check_same_data(columns, tasks)
    header = ("task", "score", *(column.title for column in columns))
    rows = [row for task in tasks for row in _rows(columns, task, subsets=False)]
    scored = [result for task in tasks for column in columns for result in column.of_task(task)]
    averages = _averages_of(scored)
    notes = [intervals_note(columns), *absence_notes(columns, tasks), *_lacks(columns, averages)]
    notes += [note for column in columns for note in doubts(column.title, column.by_task(tasks))]
    notes += derived_notes(corpora_of(scored))
    notes += [f"{declared.name}: {declared.description}." for declared in averages]
    notes += [f"{column.title}: {column.source}." for column in published]
    rows += _average_rows(columns, averages)
    table = _beside(published, header, rows)
    parts = [Section.of("Scores", table, Bullets(tuple(notes)))]
    subsets = [row for task in tasks for row in _rows(columns, task, subsets=True)]
    if by_subset and subsets:
        caption = "Scores on subsets of the similarity tasks"
        by_set = Table.of(caption, header, subsets, 2)
        parts.append(Section.of("Subsets of the similarity tasks", by_set))
    origins = tuple(_origin(column) for column in columns)
    return [*parts, Section.of("What was evaluated", Bullets(origins))]


def _beside(
    published: Sequence[PublishedColumn], header: Sequence[str], rows: Sequence[Sequence[str]]
) -> Table:
    """Returns the table with the published figures behind the first encoder's."""
    first = 3  # behind task, score and that encoder
    body = []
    for row in rows:
        figures = (_published(column, row[0], row[1]) for column in published)
        body.append([*row[:first], *figures, *row[first:]])
    titles = (column.title for column in published)
    caption = "Scores of encoders by task, with intervals"
    return Table.of(caption, [*header[:first], *titles, *header[first:]], body, 2)


def _published(column: PublishedColumn, task: str, score: str) -> str:
    """Returns a figure; of a task that was not scored, and so names no score, the first one."""
    figure = column.figures.get((task, score))
    if figure is None and not score:
        figure = next((one for (name, _), one in column.figures.items() if name == task), None)
    return "–" if figure is None else f"{figure:.1f}"


def columns_of(folders: Sequence[Mapping[str, Result]]) -> list[EncoderColumn]:
    """Returns the encoders in the order given, seeds together.

    Raises:
        ValueError: no folder, or the same encoder twice.
    """
    if not folders:
        raise ValueError("a table needs at least one folder of task results")
    groups: dict[tuple[str, ...], list[Mapping[str, Result]]] = {}
    for results in folders:
        groups.setdefault(_key(results), []).append(results)
    titles = _titles(list(groups))
    columns = []
    for place, (key, seeds) in enumerate(groups.items()):
        setups = tuple(shown_setup(results) for results in seeds)
        digests = [setup.encoder.digest for setup in setups]
        if len(set(digests)) < len(digests):
            raise ValueError(f"{key[0]}: two folders hold the same encoder; give each seed once")
        columns.append(EncoderColumn(titles[place], setups, tuple(seeds)))
    return columns


def _titles(keys: Sequence[tuple[str, ...]]) -> list[str]:
    """Returns a title each: the encoder; as needed, how it is represented, and the place."""
    found = [(key[0], described(json.loads(key[1]))) for key in keys]
    uses = {name: {use for other, use in found if other == name} for name, _ in found}
    titles = [name if len(uses[name]) == 1 else f"{name} ({use})" for name, use in found]
    return [
        title if titles.count(title) == 1 else f"{title} #{place + 1}"
        for place, title in enumerate(titles)
    ]


def _key(results: Mapping[str, Result]) -> tuple[str, ...]:
    """Returns what seeds of one encoder share; classifiers only where something is learnt."""
    setup = shown_setup(results)
    representation, classifier = setup.how_used()
    return (setup.encoder.name, representation, classifier)


def _tasks(columns: Sequence[EncoderColumn]) -> list[str]:
    """Returns the tasks in their declared order, then others by name."""
    found = {task for column in columns for results in column.seeds for task in results}
    declared = [task.name for task in TASKS if task.name in found]
    return [*declared, *sorted(found - set(declared))]


def check_same_data(columns: Sequence[EncoderColumn], tasks: Sequence[str]) -> None:
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
    if not scored and not subsets:
        return [[task, "", *(score_cell(column, task, "") for column in columns)]]
    if not scored:
        return []
    names = [name for name in scored[0].scores if (":" in name) == subsets]
    if subsets and len({name.partition(":")[2] for name in names}) < 2:  # its scores are the task's
        return []
    places = {name: place for place, name in enumerate(SCORES_IN_ORDER)}
    names.sort(key=lambda name: (0 if subsets else places.get(name, len(places)), name))
    title = task_title(task, corpora_of(scored))
    return [
        [title, name, *(score_cell(column, task, name) for column in columns)] for name in names
    ]


def score_cell(column: EncoderColumn, task: str, score: str) -> str:
    """Returns a score with its interval, over seeds with their deviation, or why there is none."""
    results = column.of_task(task)
    if not results:
        return NOT_EVALUATED if column.why_not(task) is None else ABSENT
    return _figure([result.scores[score] for result in results], digits=digits_of(score))


def _figure(seeds: Sequence[Interval], digits: int = 1) -> str:
    if len(seeds) == 1:
        return with_interval(seeds[0], digits=digits)
    return with_seeds(over_seeds([one.value for one in seeds]), digits=digits)


def _averages_of(scored: Sequence[TaskResult]) -> list[AverageDeclaration]:
    """Returns the published averages that any scored task belongs to."""
    tasks = {result.task.name for result in scored}
    return [declared for declared in AVERAGES if tasks & set(declared.parts)]


def _average_rows(
    columns: Sequence[EncoderColumn], averages: Sequence[AverageDeclaration]
) -> list[list[str]]:
    """Returns the averages and, if any encoder has them, the mean over derived tasks."""
    cells = [_average_cells(column, averages) for column in columns]
    rows = [
        [declared.name, "", *(of_column[declared.name] for of_column in cells)]
        for declared in averages
    ]
    derived = [_derived_average(column) for column in columns]
    if any(cell != NOT_GIVEN for cell in derived):
        rows.append(["average of the derived tasks", "accuracy", *derived])
    return rows


def _average_cells(column: EncoderColumn, averages: Sequence[AverageDeclaration]) -> dict[str, str]:
    """Returns the cell of each average, by its name."""
    cells = {declared.name: NOT_GIVEN for declared in averages}
    given = [one for one in averages if not any(lacking(one, seed) for seed in column.seeds)]
    if given and len(column.seeds) == 1:
        intervals = published_averages(given, column.seeds[0])
        return cells | {
            declared.name: with_interval(interval)
            for declared, interval in zip(given, intervals, strict=True)
        }
    return cells | {
        declared.name: with_seeds(over_seeds([average_value(declared, s) for s in column.seeds]))
        for declared in given
    }


def _derived_average(column: EncoderColumn) -> str:
    """Returns the mean over the tasks whose documents are known, if they are of one corpus."""
    if len({*corpora_of(r for seed in column.seeds for r in seed.values()).values()}) > 1:
        return NOT_GIVEN
    found = (
        {
            task: result
            for task, result in scored_results(results).items()
            if task in _TASK_NAMES and result.outcome.predictions.clusters is not None
        }
        for results in column.seeds
    )
    averages = [average_over_tasks(results) for results in found if results]
    return _figure(averages) if averages else NOT_GIVEN


def _lacks(columns: Sequence[EncoderColumn], averages: Sequence[AverageDeclaration]) -> list[str]:
    """Returns which tasks averages lack; said once of those that lack the same ones."""
    notes = []
    for column in columns:
        names: dict[tuple[str, ...], list[str]] = {}
        for one in averages:
            missing = sorted({task for seed in column.seeds for task in lacking(one, seed)})
            names.setdefault(tuple(missing), []).append(one.name)
        notes += [
            f"{column.title}: no {' and no '.join(named)}, for lack of {', '.join(missing)}; the "
            "mean of the other tasks would be another figure."
            for missing, named in names.items()
            if missing
        ]
    return notes


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
        has_errors: whether scores of which the lower is the better are shown.
    """
    shown = {f"{one.resampling.confidence:.0%}" for column in columns for one in column.scored}
    note = (
        f"In brackets: bootstrap interval over test items ({', '.join(sorted(shown))})."
        if shown
        else "Nothing was scored."
    )
    if any(len(column.seeds) > 1 for column in columns):
        note += " With ±: mean and standard deviation over seeds, their number in parentheses."
    errors = f" Of {', '.join(sorted(SCORES_OF_ERRORS))} the lower is the better."
    return note + errors * has_errors


def _origin(column: EncoderColumn) -> str:
    setup = column.setups[0]
    digests = ", ".join(one.encoder.digest for one in column.setups)
    widths = {result.outcome.width for result in column.scored}
    used = {"representation": setup.representation, "classifier": setup.classifier}
    return (
        f"{column.title}: encoder {digests}, width {', '.join(map(str, sorted(widths))) or '?'}; "
        f"{json.dumps(used, sort_keys=True, ensure_ascii=False, default=str)}"
    )
