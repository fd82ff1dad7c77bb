"""The papers' frameworks as Markdown: our scores with their intervals, the papers' beside them.

B and C are the papers of `models.report.published`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from models.evaluation.averages import (
    AverageDeclaration,
    average_value,
    lacking,
    published_averages,
)
from models.evaluation.protocols.config import Classifier
from models.evaluation.representations.representation import described
from models.evaluation.scores import main_metric
from models.evaluation.statistics.interval import over_seeds
from models.evaluation.task_result import corpora_of, read_results, shown_setup
from models.evaluation.tasks.declarations import task_named
from models.report.comparison_table import with_seeds
from models.report.evaluation_table import (
    EncoderColumn,
    absence_notes,
    check_same_data,
    intervals_note,
    score_cell,
    undefined_notes,
)
from models.report.framework_trainings import (
    NOTHING,
    TrainingRecord,
    TrainingText,
    differences_of_training,
    millions,
    trainings_section,
)
from models.report.markdown import bullets, count, markdown_table, percent, section, with_interval
from models.report.published import (
    MEANS,
    SENTENCES,
    TUNED_ON,
    Corpus,
    Part,
    PublishedFigure,
    published_figure,
)
from models.report.table_notes import data_remarks, derived_notes, doubts

CORPORA: tuple[Corpus, ...] = ("BookCorpus", "UMBC News")
"""Whose figures stand beside ours: those of the first that a paper gives."""
_TRAINED_ON: Mapping[Corpus | None, str] = {
    "BookCorpus": ", the published model that was trained on BookCorpus",
    "UMBC News": ", marked U, for want of such a figure the one that was trained on UMBC News",
    None: ", word vectors, which are fastText's",
}
MARKS: Mapping[Corpus | None, str] = {"UMBC News": " U"}
"""What follows a figure of a model that was not trained on the first of them."""
EXACT: Classifier = "logistic_regression"
SAID_BY_ROWS = ("views", "remove_components")
"""Fields of a representation in which rows of one framework differ."""
COMPONENT = {True: "removed", False: "kept"}


@dataclass(frozen=True, slots=True)
class FrameworkRow:
    """What of a model is scored."""

    framework: str
    """A preset, a variant of one, or a baseline."""
    taken: str
    """Which of its views, in words."""
    component_removed: bool
    folders: tuple[Path, ...]
    """Of the task results, one a seed."""
    published: tuple[str, Part] | None = None
    """What `models.report.published` calls it; None where no paper has it."""
    num_parameters: int | None = None

    @property
    def title(self) -> str:
        """The row in one line, for notes."""
        return f"{self.framework}, {self.taken}, component {COMPONENT[self.component_removed]}"

    def paper(self, name: str) -> PublishedFigure | None:
        """Returns what a paper gives for a task or mean, or None."""
        if self.published is None:
            return None
        found = (
            published_figure(
                *self.published, name, component_removed=self.component_removed, corpus=corpus
            )
            for corpus in CORPORA
        )
        return next((figure for figure in found if figure is not None), None)


@dataclass(frozen=True, slots=True)
class FrameworkComparison:
    """Everything that the table says."""

    rows: tuple[FrameworkRow, ...]
    trainings: tuple[TrainingRecord, ...]
    tasks: tuple[str, ...]
    text: TrainingText


def frameworks_table(comparison: FrameworkComparison) -> str:
    """Returns the sections: scores, the papers' averages, trainings, scoring, how ours differ.

    Raises:
        FileNotFoundError: a folder without results.
        ValueError: a damaged result, or results of a task on different data.
    """
    columns = [_column(row) for row in comparison.rows]
    check_same_data(columns, comparison.tasks)
    parts = [
        section(
            "Scores",
            _scores(comparison, columns),
            bullets(_notes(comparison, columns)),
        ),
        _averages(comparison, columns),
        trainings_section(comparison.trainings),
        section("How the scores came about", bullets(_scoring(comparison, columns))),
        section("How this differs from the papers", bullets(_differences(comparison, columns))),
    ]
    title = "# Multi-view frameworks and invertible decoders beside their papers"
    return "\n\n".join(part for part in [title, *parts] if part) + "\n"


def _column(row: FrameworkRow) -> EncoderColumn:
    seeds = tuple(read_results(folder) for folder in row.folders)
    return EncoderColumn(row.title, tuple(shown_setup(results) for results in seeds), seeds)


def _leading(row: FrameworkRow) -> list[str]:
    return [row.framework, row.taken, COMPONENT[row.component_removed]]


def _scores(comparison: FrameworkComparison, columns: Sequence[EncoderColumn]) -> str:
    header = ["framework", "representation", "component", "parameters"]
    header += [cell for task in comparison.tasks for cell in (task, "paper")]
    body = []
    for row, column in zip(comparison.rows, columns, strict=True):
        cells = [NOTHING if row.num_parameters is None else count(row.num_parameters)]
        for task in comparison.tasks:
            score = main_metric(task_named(task))
            cells += [score_cell(column, task, score), _published_cell(row.paper(task))]
        body.append([*_leading(row), *cells])
    return markdown_table(header, body, num_text_columns=3)


def _published_cell(figure: PublishedFigure | None) -> str:
    return NOTHING if figure is None else percent(figure.value) + MARKS.get(figure.corpus, "")


def _notes(comparison: FrameworkComparison, columns: Sequence[EncoderColumn]) -> list[str]:
    found = {
        task: [result for column in columns for result in column.of_task(task)]
        for task in comparison.tasks
    }
    by_task = {task: results for task, results in found.items() if results}
    results = [result for scored in by_task.values() for result in scored]
    return [
        intervals_note(columns),
        "Similarity tasks: Pearson's r times 100 of the cosine, the plain mean over subsets; the "
        "papers do not say which mean theirs is. Other tasks: accuracy, SICK-R and STS-B r times "
        "100.",
        "z_en: the view that reads words in order (z^f of B); z_de: the linear view or the "
        "decoder's inverse (z^g of B).",
        "Component: the top principal component of a view over the sentences of train, or of the "
        "whole task where it has no such split, removed or kept.",
        *_origins(comparison),
        f"{TUNED_ON}: the papers chose their settings on it.",
        *absence_notes(columns, comparison.tasks),
        *undefined_notes(columns, comparison.tasks),
        *doubts("All rows together", by_task),
        *data_remarks(results),
        *derived_notes(corpora_of(results)),
    ]


def _origins(comparison: FrameworkComparison) -> list[str]:
    """Returns where the papers' figures stand, by what the published model was trained on."""
    sources: dict[str, dict[str, None]] = {}
    for row in comparison.rows:
        for task in comparison.tasks:
            if (figure := row.paper(task)) is not None:
                said = _TRAINED_ON[figure.corpus]
                sources.setdefault(said, {})[figure.source] = None
    return [
        f"Paper{said}: {'; '.join(sources[said])}."
        for said in _TRAINED_ON.values()
        if said in sources
    ]


# The averages of B's table 6 and appendix.


def _declared(mean: str) -> AverageDeclaration:
    tasks = MEANS[mean]
    return AverageDeclaration(
        mean, mean, {task: (main_metric(task_named(task)),) for task in tasks}
    )


def _averages(comparison: FrameworkComparison, columns: Sequence[EncoderColumn]) -> str:
    """Returns the section of the rows of which a paper gives averages; empty without any."""
    body = []
    for row, column in zip(comparison.rows, columns, strict=True):
        figures = [row.paper(mean) for mean in MEANS]
        sources = dict.fromkeys(figure.source for figure in figures if figure is not None)
        if not sources:
            continue
        cells = [
            cell
            for mean, figure in zip(MEANS, figures, strict=True)
            for cell in (_average_cell(column, mean), _published_cell(figure))
        ]
        body.append([*_leading(row), "; ".join(sources), *cells])
    if not body:
        return ""
    header = ["framework", "representation", "component", "the paper's table"]
    header += [cell for mean in MEANS for cell in (mean, "paper")]
    table = markdown_table(header, body, num_text_columns=4)
    corpora = "; ".join(
        f"{corpus}{MARKS.get(corpus, '')}: {millions(SENTENCES[corpus])}" for corpus in CORPORA
    )
    notes = [
        "An average is given where all of its tasks were scored.",
        f"Figures marked U are of models trained on {CORPORA[1]}, for want of others; sentences of "
        f"{corpora}.",
    ]
    return section("Averages that the papers give", table, bullets(notes))


def _average_cell(column: EncoderColumn, mean: str) -> str:
    declared = _declared(mean)
    if any(lacking(declared, results) for results in column.seeds):
        return NOTHING
    if len(column.seeds) == 1:
        (interval,) = published_averages([declared], column.seeds[0])
        return with_interval(interval)
    return with_seeds(over_seeds([average_value(declared, results) for results in column.seeds]))


# How the scores came about.


def _scoring(comparison: FrameworkComparison, columns: Sequence[EncoderColumn]) -> list[str]:
    """Returns the classifiers, and the representations but for what each row says of its own."""
    settings = {
        ", ".join(f"{name} {value}" for name, value in column.setups[0].classifier.items()): None
        for column in columns
        if column.setups[0].learns
    }
    represented: dict[str, dict[str, None]] = {}
    for row, column in zip(comparison.rows, columns, strict=True):
        shared = {
            name: value
            for name, value in column.setups[0].representation.items()
            if name not in SAID_BY_ROWS
        }
        represented.setdefault(described(shared), {})[row.framework] = None
    return [
        *(f"Where something is learnt: {one}." for one in settings),
        *(f"Represented as {how}: {'; '.join(names)}." for how, names in represented.items()),
    ]


def _differences(comparison: FrameworkComparison, columns: Sequence[EncoderColumn]) -> list[str]:
    notes = differences_of_training(comparison.trainings, comparison.text)
    if any(column.setups[0].classifier.get("classifier") == EXACT for column in columns):
        notes.append(
            "Classifier: an exact logistic regression; the papers used SentEval's package, whose "
            "own is trained by Adam and stops early (--classifier compatibility)."
        )
    return notes
