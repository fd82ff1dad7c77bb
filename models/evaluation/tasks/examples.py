"""The files of a task as lines, the examples that a reader makes of them, and their arrangement."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from models.evaluation.tasks.task import SENTENCES_OF, EvaluationTask, Items, TaskData

Encoding = Literal["utf-8", "latin-1"]
"""SentEval reads the films', customers', opinions' and questions' files as latin-1, all others as
UTF-8."""

Tokens = tuple[str, ...]

RESTORE = "restore the file from the published data"
"""What to do about a published file that is damaged."""


@dataclass(frozen=True, slots=True)
class TextFile:
    """The lines of a file, without their ends."""

    path: Path
    lines: tuple[str, ...]
    sha256: str

    def malformed(self, row: int, problem: str) -> ValueError:
        """Returns the error of a line that does not have the file's format.

        Args:
            row: the line's position, from 0.
        """
        return ValueError(f"{self.path}, line {row + 1}: {problem}; {RESTORE}")

    def columns(self, row: int, least: int) -> list[str]:
        """Returns the tab-separated columns of a line, blanks at its ends removed before.

        Raises:
            ValueError: fewer than ``least`` columns.
        """
        columns = self.lines[row].strip().split("\t")
        if len(columns) < least:
            raise self.malformed(
                row, f"{len(columns)} tab-separated columns where {least} are needed"
            )
        return columns

    def score(self, row: int, text: str, lowest: float, highest: float) -> float:
        """Returns a gold score.

        Raises:
            ValueError: not a number from ``lowest`` to ``highest``.
        """
        try:
            score = float(text)
        except ValueError:
            raise self.malformed(row, f"{text!r} is no score") from None
        if not lowest <= score <= highest:
            raise self.malformed(row, f"the score {text} lies outside {lowest:g} to {highest:g}")
        return score

    def class_number(self, row: int, text: str, names: tuple[str, ...]) -> int:
        """Returns the position of a class among the names of the file's classes.

        Raises:
            ValueError: none of them.
        """
        if text not in names:
            raise self.malformed(row, f"{text!r} is none of the classes {', '.join(names)}")
        return names.index(text)

    def check_header(self, first_column: str) -> None:
        """Raises ValueError unless the first line is a header that begins with that column."""
        header = self.lines[0] if self.lines else ""
        if header.split("\t")[0].strip() != first_column:
            raise self.malformed(0, f"no header line that begins with {first_column!r}")


def read_text_file(path: Path, encoding: Encoding) -> TextFile:
    r"""Returns a file's lines; ``\n``, ``\r\n`` and ``\r`` end one, as where Python opens a file.

    Differs from SentEval where it calls ``str.splitlines`` (MR, CR, SUBJ, MPQA, STS): that also
    breaks a line at characters within a sentence, such as latin-1's ``\x85``, so that one sentence
    becomes two and counts differ from the published ones. A byte order mark is dropped.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: bytes that the encoding does not have.
    """
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig" if encoding == "utf-8" else encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path}, line {line}: not {encoding}; convert the file to {encoding}"
        ) from None
    lines = tuple(line.removesuffix("\n") for line in io.StringIO(text, newline=None))
    return TextFile(path, lines, hashlib.sha256(content).hexdigest())


EMPTY_SENTENCE = "."
"""What SentEval's own examples (bow.py and others) give to the encoder for a sentence without
tokens."""


@dataclass(frozen=True, slots=True)
class Example:
    """One item as its file has it."""

    first: Tokens
    label: int | float
    further: tuple[Tokens, ...] = ()
    """The other sentences of an item that has several."""

    def sort_key(self) -> tuple[float, ...]:
        """Returns what SentEval sorts by: lengths in tokens, then the label.

        It sorts to pad less; folds, permutations and batches then depend on the order, so the
        order is part of the protocol. An empty sentence has length 0 here. Equal ones stay in the
        order of the files.
        """
        return (*map(len, self.sentences()), self.label)

    def sentences(self) -> tuple[Tokens, ...]:
        """Returns all sentences."""
        return (self.first, *self.further)


@dataclass(frozen=True, slots=True)
class Examples:
    """All examples of a dataset."""

    splits: Mapping[str, Sequence[Example]]
    """Split or subset -> its examples in the order of the files."""
    class_names: tuple[str, ...] = ()
    """Where the files decide the classes; else those of the declaration are used."""
    left_out: Mapping[str, int] = field(default_factory=dict)


def arranged(task: EvaluationTask, examples: Examples, files: Mapping[str, str]) -> TaskData:
    """Returns the data of a task in the order in which SentEval hands them to the classifier.

    Args:
        files: sha256 of each file that was read, by its path within the data folder.
    """
    splits, left_out = _used_splits(task, examples)
    positions, num_empty = _distinct(
        sentence
        for split in examples.splits.values()
        for example in split
        for sentence in example.sentences()
    )
    ordered = {name: sorted(split, key=Example.sort_key) for name, split in splits.items()}
    return TaskData(
        sentences=tuple(positions),
        splits={name: items_of(task, split, positions) for name, split in ordered.items()},
        class_names=examples.class_names or task.classes,
        left_out=left_out,
        replaced={"empty sentence, given as a period": num_empty} if num_empty else {},
        files=files,
    )


def _used_splits(
    task: EvaluationTask, examples: Examples
) -> tuple[dict[str, Sequence[Example]], dict[str, int]]:
    """Returns the splits that the task uses, and what it leaves out, counted."""
    splits, left_out = dict(examples.splits), dict(examples.left_out)
    if task.protocol == "similarity" and "test" in splits:
        # Where nothing is learnt, the other splits of a learnt task serve no purpose.
        for name in [name for name in splits if name != "test"]:
            left_out[f"pair of the {name} split"] = len(splits.pop(name))
    return splits, left_out


def _distinct(sentences: Iterable[Tokens]) -> tuple[dict[str, int], int]:
    """Returns the position of each distinct sentence, and how many were empty."""
    positions: dict[str, int] = {}
    num_empty = 0
    for tokens in sentences:
        num_empty += not tokens
        positions.setdefault(_as_text(tokens), len(positions))
    return positions, num_empty


def _as_text(tokens: Tokens) -> str:
    return " ".join(tokens) or EMPTY_SENTENCE


def items_of(
    task: EvaluationTask, examples: Sequence[Example], positions: Mapping[str, int]
) -> Items:
    """Returns the items of examples, in their order.

    Args:
        positions: of each sentence among those of the dataset.
    """
    labels = np.array([e.label for e in examples], dtype=np.float64)
    is_score = task.protocol in ("relatedness", "similarity")
    sentences = np.array(
        [[positions[_as_text(tokens)] for tokens in e.sentences()] for e in examples],
        dtype=np.int64,
    ).reshape(len(examples), SENTENCES_OF[task.features])
    first, *further = np.ascontiguousarray(sentences.T)
    return Items(first, labels if is_score else labels.astype(np.int64), tuple(further))
