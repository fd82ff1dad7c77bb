"""STS12 to STS16: for each subset a file of pairs and one of gold scores, line by line."""

from __future__ import annotations

from collections.abc import Mapping

from models.evaluation.tasks.examples import Example, Examples
from models.evaluation.tasks.task import EvaluationTask
from models.evaluation.tasks.text_file import TextFile

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
