"""Two encoders compared by their task results, as ``treeviews compare`` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from models.evaluation.comparison import Comparison, ComparisonConfig, compare
from models.evaluation.task_result import Result, read_results
from pipeline.base.mistakes import did_you_mean


def compare_folders(
    first: Sequence[Path],
    second: Sequence[Path],
    config: ComparisonConfig,
    tasks: Sequence[str] | None = None,
) -> Comparison:
    """Returns the comparison of two encoders on the items of the tasks that both were scored on.

    Args:
        first: folders with one result file a task, as the evaluation writes them; several are those
            of the seeds of one encoder.
        second: the same of the other encoder.
        config: how they are compared.
        tasks: which ones; None takes all.

    Raises:
        FileNotFoundError: no such folder.
        ValueError: a task without a result, or results that cannot be compared.
    """
    sides = [[_chosen(folder, tasks) for folder in folders] for folders in (first, second)]
    return compare(sides[0], sides[1], config)


def _chosen(folder: Path, tasks: Sequence[str] | None) -> Mapping[str, Result]:
    results = read_results(folder)
    if tasks is None:
        return results
    if missing := [name for name in tasks if name not in results]:
        meant = did_you_mean(*missing, known=results)
        raise ValueError(
            f"{folder}: no result of {', '.join(missing)}; it has {', '.join(results)}{meant}"
        )
    return {name: results[name] for name in tasks}
