"""The files of tasks on pairs of sentences: MRPC, SICK, STS-B, and STS12 to STS16.

Each of the latter has for each subset a file of pairs and one of gold scores, line by line.
"""

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
            examples.append(Example(tuple(first.split()), label, tuple(second.split())))
    return examples
