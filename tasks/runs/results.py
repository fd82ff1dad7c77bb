"""The few figures that a run is known by, and which embeddings its evaluations kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import luigi
from luigi.task import flatten

from models.evaluation.scores import main_metric
from models.evaluation.task_result import TaskResult, read_result
from pipeline.base.json_files import read_object
from tasks.artefact import Artefact
from tasks.runs.graph import Stage
from tasks.runs.records import RecordedScore

EMBEDDINGS = "evaluation-embeddings"
"""Folder of the work folder with a folder an encoder, called by its digest."""
_REMEDY = "delete it and run the stage again"


def scores_of(stages: list[Stage]) -> tuple[RecordedScore, ...]:
    """Returns the main figures of a finished run.

    Those of the stage that was asked for; where that has none, of what it stands on directly.

    Args:
        stages: the last one was asked for.
    """
    root = stages[-1].task
    for task in (root, *flatten(root.requires())):
        with suppress(OSError, ValueError, LookupError, TypeError):
            if isinstance(task, Artefact) and (found := figures_of(task)):
                return found
    return ()


def caches_of(stage: Stage) -> list[Path]:
    """Returns the folders of embeddings that scoring an encoder keeps for its other tasks."""
    if not isinstance(stage.task, Artefact):
        return []
    for target in _results_of(stage.task):
        with suppress(OSError, ValueError):
            if isinstance(found := read_result(Path(target.path)), TaskResult):
                return [Path(stage.task.work_folder) / EMBEDDINGS / found.setup.encoder.digest]
    return []


def in_words(figures: Iterable[RecordedScore]) -> str:
    """Returns figures on one line: ``held-out accuracy 6.4``."""
    return ", ".join(f"{one.name} {one.value:.1f}" for one in figures)


def figures_of(task: Artefact) -> tuple[RecordedScore, ...]:
    """Returns the main figures of one finished stage; none where it has none.

    Raises:
        OSError, ValueError: what it made is not there, or damaged.
        LookupError, TypeError: it is of a release that had other fields.
    """
    if (own := getattr(task, "scores", None)) is not None:
        return tuple(RecordedScore(name, value) for name, value in own().items())
    if task.marker == "report.json":
        return _of_report(read_object(Path(task.output().path), (), remedy=_REMEDY))
    if task.marker == "summary.json":
        return _of_training(read_object(Path(task.output().path), (), remedy=_REMEDY))
    return _of_results(Path(one.path) for one in _results_of(task))


def _results_of(task: Artefact) -> list[luigi.LocalTarget]:
    found: list[luigi.LocalTarget] = flatten(task.output())
    return found if "results" in {part for one in found for part in Path(one.path).parts} else []


def _of_report(report: Mapping[str, Any]) -> tuple[RecordedScore, ...]:
    if not (seeds := report.get("trained_seeds")):
        return ()
    spread = seeds["deviation"] if seeds["num_seeds"] > 1 else None
    return (RecordedScore("probing", seeds["average"], spread),)


def _of_training(summary: Mapping[str, Any]) -> tuple[RecordedScore, ...]:
    best = summary["held_out"]["best"]
    return (RecordedScore("held-out accuracy", 100.0 * best["accuracy"]),)


def _of_results(paths: Iterable[Path]) -> tuple[RecordedScore, ...]:
    """Returns the score of one task, or the mean of the main scores of several."""
    results = [one for one in map(read_result, paths) if isinstance(one, TaskResult)]
    values = [one.scores[main_metric(one.task)].value for one in results]
    if not values:
        return ()
    name = results[0].task.name if len(values) == 1 else f"mean over {len(values)} tasks"
    return (RecordedScore(name, sum(values) / len(values)),)
