"""How the data of scores departs from the published data, and what they ask for, said below."""

from __future__ import annotations

from collections.abc import Iterable

from models.evaluation.task_result import TaskResult


def data_remarks(results: Iterable[TaskResult]) -> list[str]:
    """Returns one note a remark, with the tasks that it holds for; none where there is no reason.

    Args:
        results: of all encoders and seeds, in the order in which the tasks are to be named.
    """
    tasks: dict[str, list[str]] = {}
    for result in results:
        for remark in (*result.data.remarks, *_asked_for(result)):
            named = tasks.setdefault(remark, [])
            if result.task.name not in named:
                named.append(result.task.name)
    return [f"Data of {', '.join(names)}: {remark}." for remark, names in tasks.items()]


def _asked_for(result: TaskResult) -> list[str]:
    """Returns the settings of the classifier that the data ask for, if they ask for any."""
    settings = ", ".join(f"{name} {value}" for name, value in result.data.protocol.items())
    return [f"unless told otherwise they are scored with {settings}"] if settings else []
