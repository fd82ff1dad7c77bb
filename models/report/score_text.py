"""How figures are written: intervals, spread over seeds, counts; and notes of what is doubtful."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from treeviews.models.evaluation.resampling import Interval, SeedMean
from treeviews.models.evaluation.scores import ZERO_VECTORS
from treeviews.models.evaluation.task_result import TaskResult

SCORES_OF_ERRORS = frozenset({"mse"})
"""Scores of which the lower is the better; in their own unit, which needs more digits."""


def percent(value: float) -> str:
    """Returns a percentage with one decimal and no sign, as tables give it."""
    return f"{value:.1f}"


def with_interval(interval: Interval, *, signed: bool = False, digits: int = 1) -> str:
    """Returns a figure with its interval's bounds, as ``63.2 [61.0, 65.4]``; no 0 is negative."""
    form = f"{'+' if signed else ''}z.{digits}f"
    return f"{interval.value:{form}} {bounds(interval, form)}"


def bounds(interval: Interval, form: str = "z.1f") -> str:
    """Returns an interval alone, as ``[61.0, 65.4]``."""
    return f"[{interval.low:{form}}, {interval.high:{form}}]"


def with_seeds(figure: SeedMean, *, digits: int = 1) -> str:
    """Returns a figure as ``80.1 ± 0.3 (3)``: mean, deviation and number of seeds."""
    if figure.deviation is None:
        return f"{figure.mean:.{digits}f}"
    return f"{figure.mean:.{digits}f} ± {figure.deviation:.{digits}f} ({figure.num_seeds})"


def digits_of(score: str) -> int:
    """Returns how many decimals a score is given with."""
    return 3 if score in SCORES_OF_ERRORS else 1


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


def task_title(task: str, corpora: Mapping[str, str]) -> str:
    """Returns what a table calls a task; corpora are those of the derived tasks."""
    return f"{task} (derived)" if task in corpora else task


def derived_notes(corpora: Mapping[str, str]) -> list[str]:
    """Returns one note a corpus; none where all tasks are the published ones."""
    tasks: dict[str, list[str]] = {}
    for task, corpus in corpora.items():
        tasks.setdefault(corpus, []).append(task)
    return [
        f"{', '.join(names)}: derived from {corpus}, other sentences and labels than those of the "
        "published tasks of these names; no published figure compares. Their intervals draw whole "
        "documents, where a task has enough of them."
        for corpus, names in tasks.items()
    ]


def doubts(encoder: str, by_task: Mapping[str, Sequence[TaskResult]]) -> list[str]:
    """Returns a note a kind of doubt about an encoder's scores; none where there is no reason.

    Args:
        encoder: what the table calls it.
        by_task: the results of its seeds, at least one a task.
    """
    notes = []
    for kind, describe in _DOUBTS.items():
        described = {task: describe(results) for task, results in by_task.items()}
        if texts := [f"{task} {text}" for task, text in described.items() if text]:
            notes.append(f"{encoder}: {kind}: {'; '.join(texts)}.")
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
