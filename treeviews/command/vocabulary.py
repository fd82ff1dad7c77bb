"""``treeviews vocabulary``: the words of a corpus, and what word vectors cover of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from treeviews.command.console import Result

Vocabulary = Annotated[
    Path,
    typer.Argument(
        metavar="PATH", help="The folder that CountVocabulary made, or your own word list."
    ),
]
_REMEDY = "run CountVocabulary and give the folder that it prints last"


def show(
    path: Vocabulary,
    rows: Annotated[int, typer.Option("-n", min=0, help="Number of words shown.")] = 20,
) -> Result:
    """Show the most frequent words and their coverage of the text."""
    from treeviews.models.report.sections import markdown_table

    listed, report = _read(path)
    counts = [None] * rows if listed.counts is None else listed.counts[:rows].tolist()
    first = list(zip(listed.words.slice(0, rows).to_pylist(), counts, strict=False))
    rows_of_words = [(word, "" if count is None else f"{count:,}") for word, count in first]
    lines = [markdown_table(("word", "count"), rows_of_words)]
    for key in ("by_size", "by_min_count") if report else ():
        table = [
            [f"{value:.2%}" if isinstance(value, float) else f"{value:,}" for value in row.values()]
            for row in report[key]
        ]
        heads = [name.replace("_", " ") for name in report[key][0]]
        lines += ["", markdown_table(heads, table, num_text_columns=0)]
    value = {**report, "first": [{"word": word, "count": num} for word, num in first]}
    return Result(value, lines)


def coverage(
    path: Vocabulary,
    vectors: Annotated[Path, typer.Option(help="Folder of word vectors, or a text file.")],
) -> Result:
    """Show how much of a vocabulary the word vectors cover."""
    from treeviews.models.words.word_vectors import load_word_vectors
    from treeviews.pipeline.vectors.word_counts import coverage_by

    listed, _ = _read(path)
    found = coverage_by(load_word_vectors(vectors).index.words, listed)
    lines = [
        "{share_of_types:.2%} of the types, {share_of_tokens:.2%} of the tokens".format(**found),
        "as they stand: {exact_types:,} types, {exact_tokens:,} tokens; lower-cased: "
        "{lower_cased_types:,} and {lower_cased_tokens:,}; without a vector: "
        "{unknown_types:,} and {unknown_tokens:,}".format(**found),
    ]
    if found["most_frequent_unknown"]:
        lines.append("most frequent ones without: " + " ".join(found["most_frequent_unknown"]))
    return Result(found, lines)


def _read(path: Path) -> tuple[Any, dict[str, Any]]:
    """Returns a list of words and, of CountVocabulary's folder, its report.

    Raises:
        FileNotFoundError, ValueError: it is no vocabulary; says what to do.
    """
    from treeviews.pipeline.base.json_files import check_file, read_object
    from treeviews.pipeline.vectors.word_counts import REPORT_FILE, VOCABULARY_FILE
    from treeviews.pipeline.vectors.word_lists import read_word_list

    if not path.is_dir():
        return read_word_list(path, remedy=_REMEDY), {}
    if not (path / REPORT_FILE).is_file():
        raise FileNotFoundError(f"{path}: no vocabulary, as {REPORT_FILE} is not there; {_REMEDY}")
    report = read_object(path / REPORT_FILE, ("types", "tokens"), remedy=_REMEDY)
    check_file(path / VOCABULARY_FILE, report, _REMEDY)
    return read_word_list(path / VOCABULARY_FILE, remedy=_REMEDY), report
