"""Readers of SentEval's files, from lines to examples; a line that is malformed is an error.

On single sentences: MR, CR, SUBJ and MPQA have one file a class, one sentence a line; TREC (Li &
Roth 2002) has ``COARSE:fine question``; SST two classes or five, each in a format of its own;
SentEval's probing tasks one file with all splits, ``split TAB class TAB … TAB sentence``; passages
one such file with all of an item's sentences, ``split TAB class TAB sentence TAB …``.

On pairs: MRPC, SICK and STS-B are tables; STS12 to STS16 have for each subset a file of pairs and
one of gold scores, line by line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from models.evaluation.tasks.examples import Example, Examples, TextFile, Tokens
from models.evaluation.tasks.task import SENTENCES_OF, EvaluationTask


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

    def example(file: TextFile, row: int) -> Example:
        coarse, colon, rest = file.lines[row].strip().partition(":")
        _, space, question = rest.partition(" ")
        if not colon or not space:
            raise file.malformed(row, "not of the form 'COARSE:fine question'")
        return Example(tuple(question.split()), file.class_number(row, coarse, task.classes))

    return _of_each_line(files, example)


def read_sst_binary(task: EvaluationTask, files: Mapping[str, TextFile]) -> Examples:
    """Returns the examples of ``sentence TAB class`` lines; train holds phrases too.

    Raises:
        ValueError: another form, or a class other than 0 and 1.
    """

    def example(file: TextFile, row: int) -> Example:
        sentence, label = file.columns(row, least=2)[:2]
        return Example(tuple(sentence.split()), file.class_number(row, label, ("0", "1")))

    return _of_each_line(files, example)


def read_sst_fine(task: EvaluationTask, files: Mapping[str, TextFile]) -> Examples:
    """Returns the examples of ``class sentence`` lines.

    Raises:
        ValueError: another form, or a class other than 0 to 4.
    """

    def example(file: TextFile, row: int) -> Example:
        label, space, sentence = file.lines[row].strip().partition(" ")
        if not space:
            raise file.malformed(row, "not of the form 'class sentence'")
        return Example(tuple(sentence.split()), file.class_number(row, label, tuple("01234")))

    return _of_each_line(files, example)


SPLITS = {"tr": "train", "va": "dev", "te": "test"}


def read_probing_file(task: EvaluationTask, files: Mapping[str, TextFile]) -> Examples:
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
    (file,) = files.values()
    num_sentences = SENTENCES_OF[task.features]
    rows = [_columns(file, row, num_sentences) for row in range(len(file.lines))]
    names = tuple(sorted({label for split, label, _ in rows if split == "train"}))
    numbers = {name: number for number, name in enumerate(names)}
    splits: dict[str, list[Example]] = {name: [] for name in SPLITS.values()}
    for row, (split, label, (first, *further)) in enumerate(rows):
        if label not in numbers:
            raise file.malformed(row, f"the training split has no class {label!r}")
        splits[split].append(Example(first, numbers[label], tuple(further)))
    return Examples(splits, class_names=names)


def _columns(file: TextFile, row: int, num_sentences: int) -> tuple[str, str, list[Tokens]]:
    """Returns split, class and sentences of a line; of several, none is empty."""
    columns = file.columns(row, least=2 + num_sentences)
    if columns[0] not in SPLITS:
        raise file.malformed(row, f"the split {columns[0]!r} is none of {', '.join(SPLITS)}")
    sentences = [tuple(column.split()) for column in columns[-num_sentences:]]
    if num_sentences > 1 and (len(columns) > 2 + num_sentences or not all(sentences)):
        raise file.malformed(row, f"no split, class and {num_sentences} sentences that have words")
    return SPLITS[columns[0]], columns[1], sentences


def read_mrpc(task: EvaluationTask, files: Mapping[str, TextFile]) -> Examples:
    """Returns the examples of tables of quality, two ids and two sentences, with a header.

    Raises:
        ValueError: no header, too few columns, or a quality other than 0 and 1.
    """

    def example(file: TextFile, row: int) -> Example:
        quality, _, _, first, second = file.columns(row, least=5)[:5]
        label = file.class_number(row, quality, ("0", "1"))
        return Example(tuple(first.split()), label, (tuple(second.split()),))

    return _of_each_line(files, example, header="Quality")


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
        return Example(tuple(first.split()), label, (tuple(second.split()),))

    return _of_each_line(files, example, header="pair_ID")


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
        return Example(tuple(first.split()), label, (tuple(second.split()),))

    return _of_each_line(files, example)


def _of_each_line(
    files: Mapping[str, TextFile],
    example: Callable[[TextFile, int], Example],
    header: str | None = None,
) -> Examples:
    """Returns the examples of each file's lines, after the header that begins as given."""
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


PAIRS = "input"
GOLD = "gs"
UNSCORED = "pair without a gold score"


def file_roles(subset: str) -> tuple[str, str]:
    """Returns the names under which ``read_sts`` expects a subset's pairs and gold scores."""
    return f"{PAIRS}.{subset}", f"{GOLD}.{subset}"


def read_sts(task: EvaluationTask, files: Mapping[str, TextFile]) -> Examples:
    """Returns the scored pairs of each subset; columns after the second are not read.

    An empty gold line means that nobody scored the pair: STS16 has more of these than others.
    Unscored pairs are not encoded either.

    Raises:
        ValueError: files of different lengths, a pair of one column, no score from 0 to 5.
    """
    subsets = [name.removeprefix(f"{PAIRS}.") for name in files if name.startswith(f"{PAIRS}.")]
    splits: dict[str, list[Example]] = {}
    num_unscored = 0
    for subset in subsets:
        pairs, gold = (files[role] for role in file_roles(subset))
        splits[subset] = _scored(pairs, gold)
        num_unscored += len(pairs.lines) - len(splits[subset])
    return Examples(splits, left_out={UNSCORED: num_unscored} if num_unscored else {})


def _scored(pairs: TextFile, gold: TextFile) -> list[Example]:
    if len(pairs.lines) != len(gold.lines):
        raise ValueError(
            f"{pairs.path} has {len(pairs.lines)} lines and {gold.path} {len(gold.lines)}: line i "
            f"of one belongs to line i of the other; restore both from the published data"
        )
    examples = []
    for row, (pair, score) in enumerate(zip(pairs.lines, gold.lines, strict=True)):
        first, tab, rest = pair.partition("\t")
        if not tab:
            raise pairs.malformed(row, "one column where two tab-separated sentences are needed")
        if score.strip():
            second = rest.partition("\t")[0]
            label = gold.score(row, score, 0.0, 5.0)
            examples.append(Example(tuple(first.split()), label, (tuple(second.split()),)))
    return examples
