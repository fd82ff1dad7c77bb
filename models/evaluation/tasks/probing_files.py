"""SentEval's probing tasks: one file with all splits, ``split TAB class TAB … TAB sentence``."""

from __future__ import annotations

from collections.abc import Mapping

from models.evaluation.tasks.examples import Example, Examples
from models.evaluation.tasks.task import EvaluationTask
from models.evaluation.tasks.text_file import TextFile

SPLITS = {"tr": "train", "va": "dev", "te": "test"}


def read_probing_file(task: EvaluationTask, files: Mapping[str, TextFile]) -> Examples:
    """Returns the examples of each split.

    Classes are numbered in the alphabetical order of their names in the training split, also
    where these are numbers: tree depth 10 is class 0 and depth 5 class 3.

    Differs from SentEval for a line whose sentence is empty, which it reads as if the class were
    the sentence: that is an error here.

    Raises:
        ValueError: fewer than three columns, another split, a class that train does not have.
    """
    (file,) = files.values()
    rows = [_columns(file, row) for row in range(len(file.lines))]
    names = tuple(sorted({label for split, label, _ in rows if split == "train"}))
    numbers = {name: number for number, name in enumerate(names)}
    splits: dict[str, list[Example]] = {name: [] for name in SPLITS.values()}
    for row, (split, label, sentence) in enumerate(rows):
        if label not in numbers:
            raise file.malformed(row, f"the training split has no class {label!r}")
        splits[split].append(Example(tuple(sentence.split()), numbers[label]))
    return Examples(splits, class_names=names)


def _columns(file: TextFile, row: int) -> tuple[str, str, str]:
    """Returns split, class and sentence of a line."""
    columns = file.columns(row, least=3)
    if columns[0] not in SPLITS:
        raise file.malformed(row, f"the split {columns[0]!r} is none of {', '.join(SPLITS)}")
    return SPLITS[columns[0]], columns[1], columns[-1]
