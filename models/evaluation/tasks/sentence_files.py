"""The files of tasks on single sentences.

MR, CR, SUBJ and MPQA have one file a class, one sentence a line; TREC (Li & Roth 2002) has
``COARSE:fine question``; SST two classes or five, each in a format of its own; SentEval's probing
tasks one file with all splits, ``split TAB class TAB … TAB sentence``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

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
