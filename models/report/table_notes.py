"""What is said below tables.

Which tasks are derived, and what makes scores doubtful.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from models.evaluation.scores import ZERO_VECTORS
from models.evaluation.task_result import TaskResult
from models.report.markdown import count


def task_title(task: str, corpora: Mapping[str, str]) -> str:
    """Returns what a table calls a task.

    Args:
        corpora: the corpus of each derived task, by the task's name.
    """
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
    kinds = (
        ("sentences that it refused, scored as zeros", _refused),
        ("pairs of which a vector is zero, as of unknown words, with cosine 0", _zero_vectors),
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


def _zero_vectors(results: Sequence[TaskResult]) -> str:
    """Returns the count of such pairs, of the seed that has most."""
    most = max(int(result.outcome.details.get(ZERO_VECTORS, 0)) for result in results)
    return _summed([(most, len(results[0].outcome.predictions.gold))])


def _not_converged(results: Sequence[TaskResult]) -> str:
    return _summed([(one.outcome.not_converged, one.outcome.num_fits) for one in results])


def _at_edge(results: Sequence[TaskResult]) -> str:
    return _summed([(one.outcome.at_grid_edge, len(one.outcome.regularisers)) for one in results])


def _summed(shares: Sequence[tuple[int, int]]) -> str:
    part, whole = map(sum, zip(*shares, strict=True))
    return f"{count(part)} of {count(whole)}" if part else ""
