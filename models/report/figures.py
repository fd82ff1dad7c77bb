"""An encoder's results over its seeds, and the figures and notes that tables give of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass

from treeviews.models.evaluation.averages import (
    AverageDeclaration,
    average_value,
    lacking,
    published_average,
)
from treeviews.models.evaluation.resampling import Interval, over_seeds
from treeviews.models.evaluation.scores import ZERO_VECTORS
from treeviews.models.evaluation.task_result import (
    AbsentResult,
    Result,
    Setup,
    TaskResult,
    corpora_of,
    scored_results,
    shown_setup,
)

NOTHING = "–"
NOT_SCORED = "not scored"
ALL_ROWS = "All rows together"


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure, or why there is none."""

    value: float | None = None
    """Mean over seeds, or as published."""
    deviation: float | None = None
    """Sample standard deviation over seeds; None of a single one."""
    num_seeds: int = 0
    """0 of a published figure."""
    low: float | None = None
    """Of the bootstrap interval of a single seed; None over several, and of facts."""
    high: float | None = None
    reason: str = ""
    """Why there is no figure; empty where none belongs here, as a baseline has no hours."""

    @classmethod
    def over(cls, seeds: Sequence[Interval | float], *, times: float = 1.0) -> Figure:
        """Returns one figure a seed as one: a single one with its interval; of none an empty one.

        Args:
            seeds: figures with intervals, or without.
            times: what they are multiplied with.
        """
        if not seeds:
            return cls()
        values = [times * (each.value if isinstance(each, Interval) else each) for each in seeds]
        figure, first = cls(*astuple(over_seeds(values))), seeds[0]
        if len(seeds) > 1 or not isinstance(first, Interval):
            return figure
        return cls(values[0], None, 1, times * first.low, times * first.high)

    def text(self, digits: int = 1, *, nothing: str = NOTHING) -> str:
        """Returns ``63.2 [61.0, 65.4]``, ``80.1 ± 0.3 (3)``, or what stands for no figure."""
        if self.value is None:
            return nothing
        form = f"z,.{digits}f"
        if self.deviation is not None:
            return f"{self.value:{form}} ± {self.deviation:.{digits}f} ({self.num_seeds})"
        if self.low is not None and self.high is not None:
            return f"{self.value:{form}} [{self.low:{form}}, {self.high:{form}}]"
        return f"{self.value:{form}}"


@dataclass(frozen=True, slots=True)
class ScoredEncoder:
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
        results = (seed.get(task) for seed in self.seeds)
        return [result for result in results if isinstance(result, TaskResult)]

    def why_not(self, task: str) -> str | None:
        """Returns why a task was not scored, or None where no seed was to be."""
        results = [seed.get(task) for seed in self.seeds]
        return next((each.reason for each in results if isinstance(each, AbsentResult)), None)

    def score(self, task: str, name: str, *, times: float = 1.0) -> Figure:
        """Returns a score of a task on which all seeds were scored, multiplied."""
        results = self.of_task(task)
        if not results or len(results) < len(self.seeds):
            return Figure(reason=self.why_not(task) or NOT_SCORED)
        if any(name not in result.scores for result in results):
            return Figure(reason=f"{task} has no score {name}")
        return Figure.over([result.scores[name] for result in results], times=times)

    def average(self, declared: AverageDeclaration) -> Figure:
        """Returns an average over tasks that were all scored."""
        missing = sorted({task for seed in self.seeds or ({},) for task in lacking(declared, seed)})
        if missing:
            return Figure(reason=f"without {', '.join(missing)} it would be another figure")
        if len(self.seeds) == 1:
            return Figure.over([published_average(declared, self.seeds[0])])
        return Figure.over([average_value(declared, seed) for seed in self.seeds])


def titles_by_note(notes: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Returns each note once, of notes with a title each, and the titles of all it is about."""
    titles: dict[str, list[str]] = {}
    for note, title in notes:
        titles.setdefault(note, []).append(title)
    return titles


def results_of(encoders: Sequence[ScoredEncoder], tasks: Sequence[str]) -> list[TaskResult]:
    """Returns all results of encoders, task by task."""
    return [result for task in tasks for each in encoders for result in each.of_task(task)]


def notes_of_tasks(
    encoders: Sequence[ScoredEncoder], tasks: Sequence[str] | None = None, *, together: str = ""
) -> list[str]:
    """Returns what is absent, what is doubtful, and which tasks are derived.

    Args:
        tasks: in the order of the notes; by default all that the encoders have, in theirs.
        together: what all encoders are called whose doubts stand in one note; by default each has
            its own.
    """
    if tasks is None:
        tasks = list(dict.fromkeys(task for of in encoders for seed in of.seeds for task in seed))
    groups = [(together, encoders)] if together else [(each.title, [each]) for each in encoders]
    return [
        *absence_notes(encoders, tasks),
        *(note for title, group in groups for note in doubts(title, group, tasks)),
        *derived_notes(corpora_of(results_of(encoders, tasks))),
    ]


def absence_notes(encoders: Sequence[ScoredEncoder], tasks: Sequence[str]) -> list[str]:
    """Returns which tasks were not scored, why, and of which encoders."""
    absent = (
        (f"{task}: absent ({reason})", encoder.title)
        for task in tasks
        for encoder in encoders
        if (reason := encoder.why_not(task)) is not None
    )
    return [
        note if len(titles) == len(encoders) else f"{note}, for {', '.join(titles)}"
        for note, titles in titles_by_note(absent).items()
    ]


def intervals_note(encoders: Sequence[ScoredEncoder], *, has_errors: bool = True) -> str:
    """Returns what stands in brackets and behind ±.

    Args:
        has_errors: whether there are scores of which the lower is the better.
    """
    confidence = {f"{one.resampling.confidence:.0%}" for each in encoders for one in each.scored}
    note = (
        f"In brackets: bootstrap interval over test items ({', '.join(sorted(confidence))})."
        if confidence
        else "Nothing was scored."
    )
    if any(len(encoder.seeds) > 1 for encoder in encoders):
        note += " With ±: mean and standard deviation over seeds, their number in parentheses."
    errors = f" Of {', '.join(sorted(SCORES_OF_ERRORS))} the lower is the better."
    return note + errors * has_errors


def task_title(task: str, corpora: Mapping[str, str]) -> str:
    """Returns what a table calls a task; corpora are those of the derived tasks."""
    return f"{task} (derived)" if task in corpora else task


def derived_notes(corpora: Mapping[str, str]) -> list[str]:
    """Returns a note a corpus."""
    tasks = titles_by_note((corpus, task) for task, corpus in corpora.items())
    return [
        f"{', '.join(names)}: derived from {corpus}, other sentences and labels than those of the "
        "published tasks of these names; no published figure compares. Their intervals draw whole "
        "documents, where a task has enough of them."
        for corpus, names in tasks.items()
    ]


def doubts(title: str, encoders: Sequence[ScoredEncoder], tasks: Sequence[str]) -> list[str]:
    """Returns a note a kind of doubt about scores; none where there is no reason.

    Args:
        title: what the table calls the encoders.
        encoders: whose scores they are, taken together.
        tasks: in the order of the notes.
    """
    by_task = {task: results_of(encoders, [task]) for task in tasks}
    notes = []
    for kind, describe in _DOUBTS.items():
        described = {task: describe(results) for task, results in by_task.items() if results}
        if texts := [f"{task} {text}" for task, text in described.items() if text]:
            notes.append(f"{title}: {kind}: {'; '.join(texts)}.")
    return notes


def _refused(results: Sequence[TaskResult]) -> str:
    """Returns count and share of the distinct sentences, of the seed that refused most."""
    data = max((result.data for result in results), key=lambda record: record.refused_share)
    refused = _share([(data.num_refused, data.num_sentences)])
    return refused and f"{refused} distinct ({100 * data.refused_share:.2f} %)"


def _zero_vectors(results: Sequence[TaskResult]) -> str:
    """Returns the count of such pairs, of the seed that has most."""
    most = max(int(result.outcome.details.get(ZERO_VECTORS, 0)) for result in results)
    return _share([(most, len(results[0].outcome.predictions.gold))])


def _share(shares: Sequence[tuple[int, int]]) -> str:
    part, whole = map(sum, zip(*shares, strict=True))
    return f"{count(part)} of {count(whole)}" if part else ""


_DOUBTS: dict[str, Callable[[Sequence[TaskResult]], str]] = {
    "sentences that it refused, scored as zeros": _refused,
    "pairs of which a vector is zero, as of unknown words, with cosine 0": _zero_vectors,
    "fits that stopped before the tolerance was reached": lambda results: _share(
        [(result.outcome.not_converged, result.outcome.num_fits) for result in results]
    ),
    "searches that chose the smallest or largest regulariser offered": lambda results: _share(
        [(result.outcome.at_grid_edge, len(result.outcome.regularisers)) for result in results]
    ),
}


SCORES_OF_ERRORS = frozenset({"mse"})
"""Scores of which the lower is the better; in their own unit, which needs more digits."""


def with_interval(interval: Interval, *, signed: bool = False) -> str:
    """Returns a figure with its interval's bounds, as ``63.2 [61.0, 65.4]``; no 0 is negative."""
    form = "+z.1f" if signed else "z.1f"
    return f"{interval.value:{form}} [{interval.low:{form}}, {interval.high:{form}}]"


def p_value(p: float) -> str:
    """Returns a p value with as many digits as matter."""
    return f"{p:.3f}" if p >= 0.001 else f"{p:.1e}"


def count(value: int) -> str:
    """Returns a whole number with thousands separated."""
    return f"{value:,}"


def number_of(value: int, thing: str) -> str:
    """Returns ``1 epoch``, ``3 epochs``."""
    return f"1 {thing}" if value == 1 else f"{count(value)} {thing}s"


def by_reason(counts: Mapping[str, int]) -> str:
    """Returns counts with their reasons as running text."""
    named = (f"{reason.replace('_', ' ')} {count(n)}" for reason, n in sorted(counts.items()) if n)
    return ", ".join(named) or "–"
