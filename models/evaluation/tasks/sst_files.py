"""SST: sentiment of film reviews, two classes or five, each in a format of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from models.evaluation.tasks.examples import Example, Examples
from models.evaluation.tasks.task import EvaluationTask
from models.evaluation.tasks.text_file import TextFile


def read_sst_binary(task: EvaluationTask, files: Mapping[str, TextFile]) -> Examples:
    """Returns the examples of ``sentence TAB class`` lines; train holds phrases too.

    Raises:
        ValueError: another form, or a class other than 0 and 1.
    """
    return _read(files, _binary_example)


def read_sst_fine(task: EvaluationTask, files: Mapping[str, TextFile]) -> Examples:
    """Returns the examples of ``class sentence`` lines.

    Raises:
        ValueError: another form, or a class other than 0 to 4.
    """
    return _read(files, _fine_example)


def _read(files: Mapping[str, TextFile], example: Callable[[TextFile, int], Example]) -> Examples:
    return Examples(
        {
            split: [example(file, row) for row in range(len(file.lines))]
            for split, file in files.items()
        }
    )


def _binary_example(file: TextFile, row: int) -> Example:
    sentence, label = file.columns(row, least=2)[:2]
    return Example(tuple(sentence.split()), file.class_number(row, label, ("0", "1")))


def _fine_example(file: TextFile, row: int) -> Example:
    label, space, sentence = file.lines[row].strip().partition(" ")
    if not space:
        raise file.malformed(row, "not of the form 'class sentence'")
    number = file.class_number(row, label, ("0", "1", "2", "3", "4"))
    return Example(tuple(sentence.split()), number)
