"""TREC: questions by the kind of their answer (Li & Roth 2002), ``COARSE:fine question``."""

from __future__ import annotations

from collections.abc import Mapping

from models.evaluation.tasks.examples import Example, Examples
from models.evaluation.tasks.task import EvaluationTask
from models.evaluation.tasks.text_file import TextFile


def read_trec(task: EvaluationTask, files: Mapping[str, TextFile]) -> Examples:
    """Returns the questions of train and test with their coarse class.

    Raises:
        ValueError: a line that is not ``COARSE:fine question``, or another coarse class.
    """
    return Examples(
        {
            split: [_example(task, file, row) for row in range(len(file.lines))]
            for split, file in files.items()
        }
    )


def _example(task: EvaluationTask, file: TextFile, row: int) -> Example:
    coarse, colon, rest = file.lines[row].strip().partition(":")
    _, space, question = rest.partition(" ")
    if not colon or not space:
        raise file.malformed(row, "not of the form 'COARSE:fine question'")
    return Example(tuple(question.split()), file.class_number(row, coarse, task.classes))
