"""Readers of SentEval's files, from lines to examples; a line that is malformed is an error.

On single sentences: MR, CR, SUBJ and MPQA have one file a class, one sentence a line; TREC (Li &
Roth 2002) has ``COARSE:fine question``; SST two classes or five, each in a format of its own;
SentEval's probing tasks one file with all splits, ``split TAB class TAB … TAB sentence``; passages
one such file with all of an item's sentences, ``split TAB class TAB sentence TAB …``.

On pairs: MRPC, SICK and STS-B are tables; STS12 to STS16 have for each subset a file of pairs and
one of gold scores, line by line.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from treeviews.models.evaluation.task_registry import DECLARED, SENTENCES_OF, EvaluationTask

Encoding = Literal["utf-8", "latin-1"]
"""SentEval reads the films', customers', opinions' and questions' files as latin-1, all others as
UTF-8."""

Tokens = tuple[str, ...]

RESTORE = "restore the file from the published data"
"""What to do about a published file that is damaged."""


class Line(NamedTuple):
    """A line of a file, without its end."""

    path: Path
    number: int
    """From 1."""
    text: str

    def malformed(self, problem: str) -> ValueError:
        """Returns the error of a line that does not have the file's format."""
        return ValueError(f"{self.path}, line {self.number}: {problem}; {RESTORE}")

    def columns(self, least: int) -> list[str]:
        """Returns the tab-separated columns, blanks at the line's ends removed before.

        Raises:
            ValueError: fewer than ``least`` columns.
        """
        columns = self.text.strip().split("\t")
        if len(columns) < least:
            raise self.malformed(f"{len(columns)} tab-separated columns where {least} are needed")
        return columns

    def score(self, text: str, lowest: float, highest: float) -> float:
        """Returns a gold score.

        Raises:
            ValueError: not a number from ``lowest`` to ``highest``.
        """
        try:
            score = float(text)
        except ValueError:
            raise self.malformed(f"{text!r} is no score") from None
        if not lowest <= score <= highest:
            raise self.malformed(f"the score {text} lies outside {lowest:g} to {highest:g}")
        return score

    def class_number(self, text: str, names: Sequence[str]) -> int:
        """Returns the position of a class among the names of the file's classes.

        Raises:
            ValueError: none of them.
        """
        if text not in names:
            raise self.malformed(f"{text!r} is none of the classes {', '.join(names)}")
        return names.index(text)


Lines = Sequence[Line]


def read_lines(path: Path, encoding: Encoding) -> tuple[Lines, str]:
    r"""Returns a file's lines and sha256; ``\n``, ``\r\n`` and ``\r`` end one, as in Python.

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
    lines = [
        Line(path, number, line.removesuffix("\n"))
        for number, line in enumerate(io.StringIO(text, newline=None), start=1)
    ]
    return lines, hashlib.sha256(content).hexdigest()


class Example(NamedTuple):
    """One item as its file has it."""

    sentences: tuple[Tokens, ...]
    label: int | float


def sort_key(example: Example) -> tuple[float, ...]:
    """Returns what SentEval sorts by: lengths in tokens, then the label.

    It sorts to pad less; folds, permutations and batches then depend on the order, so the
    order is part of the protocol. An empty sentence has length 0 here. Equal ones stay in the
    order of the files.
    """
    return (*map(len, example.sentences), example.label)


def _example(label: float, *sentences: str) -> Example:
    return Example(tuple(tuple(sentence.split()) for sentence in sentences), label)


class Examples(NamedTuple):
    """All examples of a dataset."""

    splits: Mapping[str, Sequence[Example]]
    """Split or subset -> its examples in the order of the files."""
    class_names: tuple[str, ...] = ()
    """Where the files decide the classes; else those of the declaration are used."""
    left_out: Mapping[str, int] = {}


Reader = Callable[[EvaluationTask, Mapping[str, Lines]], Examples]
"""From a task and its dataset's files, by what they are to the reader, to all examples."""


def read_polarity(task: EvaluationTask, files: Mapping[str, Lines]) -> Examples:
    """Returns the examples of ``positive`` (class 1), then those of ``negative`` (class 0).

    An empty line is an empty sentence: MPQA has three, and published counts include them.
    """
    names = ("positive", "negative")
    lines = [(line.text, int(name == "positive")) for name in names for line in files[name]]
    return Examples({"all": [_example(label, text) for text, label in lines]})


def reader_of_lines(
    example: Callable[[EvaluationTask, Line], Example], header: str | None = None
) -> Reader:
    """Returns the reader of files of which each is a split, and each line an example.

    Args:
        example: what a line is.
        header: first column of the header line, where files have one.
    """

    def read(task: EvaluationTask, files: Mapping[str, Lines]) -> Examples:
        for lines in files.values() if header else ():
            if lines and lines[0].text.split("\t")[0].strip() != header:
                raise lines[0].malformed(f"no header line that begins with {header!r}")
        start = 1 if header else 0
        return Examples(
            {split: [example(task, line) for line in f[start:]] for split, f in files.items()}
        )

    return read


def trec_question(task: EvaluationTask, line: Line) -> Example:
    """Returns the example of a line ``COARSE:fine question``: its class is the coarse one."""
    coarse, colon, rest = line.text.strip().partition(":")
    _, space, question = rest.partition(" ")
    if not colon or not space:
        raise line.malformed("not of the form 'COARSE:fine question'")
    return _example(line.class_number(coarse, task.classes), question)


def binary_sentiment(task: EvaluationTask, line: Line) -> Example:
    """Returns the example of a line ``sentence TAB class``, which is 0 or 1."""
    sentence, label = line.columns(least=2)[:2]
    return _example(line.class_number(label, ("0", "1")), sentence)


def graded_sentiment(task: EvaluationTask, line: Line) -> Example:
    """Returns the example of a line ``class sentence``, the class from 0 to 4."""
    label, space, sentence = line.text.strip().partition(" ")
    if not space:
        raise line.malformed("not of the form 'class sentence'")
    return _example(line.class_number(label, tuple("01234")), sentence)


def paraphrase_pair(task: EvaluationTask, line: Line) -> Example:
    """Returns the example of a row of MRPC: quality (0 or 1), two ids and two sentences."""
    quality, _, _, first, second = line.columns(least=5)[:5]
    return _example(line.class_number(quality, ("0", "1")), first, second)


def sick_pair(task: EvaluationTask, line: Line) -> Example:
    """Returns the example of a row of SICK: id, two sentences, relatedness and entailment.

    The label is the entailment's class where the task has classes, else the relatedness, 1 to 5.
    """
    _, first, second, relatedness, entailment = line.columns(least=5)[:5]
    if task.classes:
        return _example(line.class_number(entailment, task.classes), first, second)
    return _example(line.score(relatedness, 1.0, 5.0), first, second)


def benchmark_pair(task: EvaluationTask, line: Line) -> Example:
    """Returns the example of a row of STS-B: genre, source, year, id, score and two sentences.

    There is no header and quotation marks have no meaning, though the files are named ``.csv``;
    some lines name their sources in further columns.
    """
    _, _, _, _, score, first, second = line.columns(least=7)[:7]
    return _example(line.score(score, 0.0, 5.0), first, second)


SPLITS = {"tr": "train", "va": "dev", "te": "test"}
"""What a probing file calls its splits."""


def read_probing_file(task: EvaluationTask, files: Mapping[str, Lines]) -> Examples:
    """Returns the examples of each split.

    The sentences are the last columns of a line, as many as the task's items have.

    Classes are numbered in the alphabetical order of their names in the training split, also
    where these are numbers: tree depth 10 is class 0 and depth 5 class 3.

    Differs from SentEval for a line whose sentence is empty, which it reads as if the class were
    the sentence: that is an error here.

    Raises:
        ValueError: fewer columns, or more or empty ones where an item has several sentences,
            another split, a class that train does not have.
    """
    (lines,) = files.values()
    rows = [(line, *_probing_columns(line, SENTENCES_OF[task.features])) for line in lines]
    names = tuple(sorted({label for _, split, label, _ in rows if split == "train"}))
    splits: dict[str, list[Example]] = {name: [] for name in SPLITS.values()}
    numbers = {name: number for number, name in enumerate(names)}
    for line, split, label, sentences in rows:
        if label not in numbers:
            raise line.malformed(f"the training split has no class {label!r}")
        splits[split].append(_example(numbers[label], *sentences))
    return Examples(splits, class_names=names)


def _probing_columns(line: Line, num_sentences: int) -> tuple[str, str, list[str]]:
    """Returns split, class and sentences of a line; of several, none is empty."""
    columns = line.columns(least=2 + num_sentences)
    if columns[0] not in SPLITS:
        raise line.malformed(f"the split {columns[0]!r} is none of {', '.join(SPLITS)}")
    sentences = columns[-num_sentences:]
    is_whole = len(columns) == 2 + num_sentences and all(map(str.strip, sentences))
    if num_sentences > 1 and not is_whole:
        raise line.malformed(f"no split, class and {num_sentences} sentences that have words")
    return SPLITS[columns[0]], columns[1], sentences


def read_sts(task: EvaluationTask, files: Mapping[str, Lines]) -> Examples:
    """Returns the scored pairs of each subset; columns after the second are not read.

    An empty gold line means that nobody scored the pair: STS16 has more of these than others.
    Unscored pairs are not encoded either.

    Args:
        files: ``input.SUBSET`` and ``gs.SUBSET`` of each subset: pairs and gold scores.

    Raises:
        ValueError: files of different lengths, a pair of one column, no score from 0 to 5.
    """
    subsets = [role.removeprefix("input.") for role in files if role.startswith("input.")]
    splits: dict[str, list[Example]] = {}
    num_unscored = 0
    for subset in subsets:
        pairs, gold = files[f"input.{subset}"], files[f"gs.{subset}"]
        if len(pairs) != len(gold):
            raise ValueError(
                f"{task.name}: STS.input.{subset}.txt has {len(pairs)} lines and "
                f"STS.gs.{subset}.txt {len(gold)}; {RESTORE}"
            )
        splits[subset] = []
        for pair, score in zip(pairs, gold, strict=True):
            if not score.text.strip():
                continue
            first, *further = pair.text.split("\t")
            if not further:
                raise pair.malformed("one column where two tab-separated sentences are needed")
            value = score.score(score.text, 0.0, 5.0)
            splits[subset].append(_example(value, first, further[0]))
        num_unscored += len(pairs) - len(splits[subset])
    left_out = {"pair without a gold score": num_unscored} if num_unscored else {}
    return Examples(splits, left_out=left_out)


READERS: Mapping[str, Reader] = {
    "polarity": read_polarity,
    "binary_sentiment": reader_of_lines(binary_sentiment),
    "graded_sentiment": reader_of_lines(graded_sentiment),
    "trec": reader_of_lines(trec_question),
    "mrpc": reader_of_lines(paraphrase_pair, "Quality"),
    "sick": reader_of_lines(sick_pair, "pair_ID"),
    "sts_benchmark": reader_of_lines(benchmark_pair),
    "sts": read_sts,
    "probing": read_probing_file,
}
"""By the name that ``evaluation_sets.toml`` calls them by."""


class Dataset(NamedTuple):
    """The files of one dataset, and who reads them."""

    files: Mapping[str, str]
    """What a file is to the reader -> its path within SentEval's ``data`` folder."""
    read: Reader
    encoding: Encoding = "utf-8"


def declared_dataset(entry: Mapping[str, Any]) -> Dataset:
    """Returns a dataset of ``evaluation_sets.toml``; one of STS has two files a subset."""
    files = entry.get("files") or {
        f"{kind}.{subset}": f"{entry['folder']}/STS.{kind}.{subset}.txt"
        for subset in entry["subsets"]
        for kind in ("input", "gs")
    }
    return Dataset(files, READERS[entry["reader"]], entry.get("encoding", "utf-8"))


DATASETS = {name: declared_dataset(entry) for name, entry in DECLARED["datasets"].items()}
"""Declared dataset, as ``EvaluationTask.dataset`` names it -> its files."""
