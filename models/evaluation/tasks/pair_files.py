"""MRPC, SICK and STS-B: tab-separated tables of pairs, each with columns of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from models.evaluation.tasks.examples import Example, Examples
from models.evaluation.tasks.task import EvaluationTask
from models.evaluation.tasks.text_file import TextFile


def read_mrpc(task: EvaluationTask, files: Mapping[str, TextFile]) -> Examples:
    """Returns the examples of tables of quality, two ids and two sentences, with a header.

    Raises:
        ValueError: no header, too few columns, or a quality other than 0 and 1.
    """

    def example(file: TextFile, row: int) -> Example:
        quality, _, _, first, second = file.columns(row, least=5)[:5]
        label = file.class_number(row, quality, ("0", "1"))
        return Example(tuple(first.split()), label, tuple(second.split()))

    return _table(files, example, header="Quality")


def read_sick(task: EvaluationTask, files: Mapping[str, TextFile]) -> Examples:
    """Returns the examples of tables of id, two sentences, relatedness and entailment.

    The label is the entailment's class where the task has classes, else the relatedness, 1 to 5.

    Raises:
        ValueError: no header, too few columns, another class or no such score.
    """

    def example(file: TextFile, row: int) -> Example:
        _, first, second, relatedness, entailment = file.columns(row, least=5)[:5]
        label = (
            file.class_number(row, entailment, task.classes)
            if task.classes
            else file.score(row, relatedness, 1.0, 5.0)
        )
        return Example(tuple(first.split()), label, tuple(second.split()))

    return _table(files, example, header="pair_ID")


def read_sts_benchmark(task: EvaluationTask, files: Mapping[str, TextFile]) -> Examples:
    """Returns the examples of tables of genre, source, year, id, score, 0 to 5, and two sentences.

    There is no header and quotation marks have no meaning, though the files are named ``.csv``;
    some lines name their sources in further columns.

    Raises:
        ValueError: too few columns, or no such score.
    """

    def example(file: TextFile, row: int) -> Example:
        _, _, _, _, score, first, second = file.columns(row, least=7)[:7]
        label = file.score(row, score, 0.0, 5.0)
        return Example(tuple(first.split()), label, tuple(second.split()))

    return _table(files, example, header=None)


def _table(
    files: Mapping[str, TextFile],
    example: Callable[[TextFile, int], Example],
    header: str | None,
) -> Examples:
    """Returns the examples of each file's lines after the header, which begins as given."""
    if header is not None:
        for file in files.values():
            file.check_header(header)
    start = 0 if header is None else 1
    return Examples(
        {
            split: [example(file, row) for row in range(start, len(file.lines))]
            for split, file in files.items()
        }
    )
