"""What makes scores doubtful, said below their table: refused sentences, fits not done, grids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from models.evaluation.task_result import TaskResult
from models.report.markdown import count


def doubts(encoder: str, by_task: Mapping[str, Sequence[TaskResult]]) -> list[str]:
    """Returns a note a kind of doubt about an encoder's scores; none where there is no reason.

    Args:
        encoder: what the table calls it.
        by_task: the results of its seeds, at least one a task.
    """
    kinds = (
        ("sentences that it refused, scored as zeros", _refused),
        ("fits that stopped before the tolerance was reached", _not_converged),
        ("searches that chose the smallest or largest regulariser offered", _at_edge),
    )
    notes = []
    for kind, said_of in kinds:
        found = {task: said_of(results) for task, results in by_task.items()}
        said = [f"{task} {text}" for task, text in found.items() if text]
        if said:
            notes.append(f"{encoder}: {kind}: {'; '.join(said)}.")
    return notes


def _refused(results: Sequence[TaskResult]) -> str:
    """Returns count and share of the distinct sentences, of the seed that refused most."""
    data = max((result.data for result in results), key=lambda record: record.refused_share)
    if not data.num_refused:
        return ""
    return (
        f"{count(data.num_refused)} of {count(data.num_sentences)} distinct "
        f"({100 * data.refused_share:.2f} %)"
    )


def _not_converged(results: Sequence[TaskResult]) -> str:
    failed = sum(result.outcome.not_converged for result in results)
    fits = sum(result.outcome.num_fits for result in results)
    return f"{count(failed)} of {count(fits)}" if failed else ""


def _at_edge(results: Sequence[TaskResult]) -> str:
    at_edge = sum(result.outcome.at_grid_edge for result in results)
    searches = sum(len(result.outcome.regularisers) for result in results)
    return f"{count(at_edge)} of {count(searches)}" if at_edge else ""
