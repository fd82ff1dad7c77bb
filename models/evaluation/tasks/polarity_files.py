"""MR, CR, SUBJ and MPQA: one file a class, one sentence a line."""

from __future__ import annotations

from collections.abc import Mapping

from models.evaluation.tasks.examples import Example, Examples
from models.evaluation.tasks.task import EvaluationTask
from models.evaluation.tasks.text_file import TextFile


def read_polarity(task: EvaluationTask, files: Mapping[str, TextFile]) -> Examples:
    """Returns the examples of ``positive`` (class 1), then those of ``negative`` (class 0).

    An empty line is an empty sentence: MPQA has three, and published counts include them.
    """
    return Examples(
        {
            "all": [
                Example(tuple(line.split()), label)
                for name, label in (("positive", 1), ("negative", 0))
                for line in files[name].lines
            ]
        }
    )
