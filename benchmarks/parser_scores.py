"""Scores two parsers on the same gold trees, by genre, with intervals of the differences.

    python -m benchmarks.parser_scores NEW OLD gum/dep/test.conllu ewt/dep/test.conllu
    python -m benchmarks.parser_scores NEW OLD gum/const/test.mrg --documents gum/dep/test.conllu

Both must give dependencies (LAS, all tokens, full labels) or constituents (F1 of labelled brackets
as by EVALB). A genre is what stands at the beginning of a document's id, see ``--genre``. Sentences
are drawn again to find how far a difference may be chance; another choice of documents is not in
that. The last line it prints is one JSON object.

Legend: n sentences, R resamples.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.report import Table, fail, header, print_last_line, print_table, tell
from models.evaluation.statistics.resampling import (
    FloatArray,
    Interval,
    Resampling,
    bootstrap_scores,
    percentile_interval,
)
from pipeline.base.bundled import parser_folder
from pipeline.base.refusal import Refusal
from pipeline.parsers.adapters.folder_files import STAGE_OF_KIND, named_kind
from pipeline.parsers.load import load_parser
from pipeline.trees.parses import ConstituencyParse, DependencyParse
from pipeline.trees.tree_scores import AttachmentCounts, BracketCounts
from pipeline.trees.treebanks import (
    BracketedSentence,
    TreebankSentence,
    no_sentence_in,
    read_bracketed,
    read_treebank,
)

GENRE = r"(?:GUM_)?([A-Za-z]+)"
"""Of the ids of GUM and UD English EWT."""
WITHOUT_GENRE = "other"
Gold = TreebankSentence | BracketedSentence


@dataclass(frozen=True, slots=True)
class Counts:
    """What a score is made of, by sentence: 100 times the sum of one over the sum of the other."""

    right_n: FloatArray
    """Tokens with their head and label; twice the brackets that match."""
    all_n: FloatArray
    """Tokens; brackets of both trees."""

    def scores(self, weights: FloatArray) -> FloatArray:
        """Returns the scores [R] of sentences taken as often as ``weights`` [R, n] say."""
        return np.asarray(100.0 * (weights @ self.right_n) / np.maximum(weights @ self.all_n, 1.0))


@dataclass(frozen=True, slots=True)
class Compared:
    """Two parsers on the same sentences."""

    num_sentences: int
    new: float
    old: float
    difference: Interval


def compare(new: Counts, old: Counts, chosen_n: Sequence[int], *, seed: int = 0) -> Compared:
    """Returns the scores on the sentences at some positions, and the interval of their difference.

    Raises:
        ValueError: no position.
    """
    if not chosen_n:
        raise ValueError("no sentence to compare on")
    members = np.asarray(chosen_n)
    pair = [Counts(counts.right_n[members], counts.all_n[members]) for counts in (new, old)]
    drawn = bootstrap_scores(
        lambda weights: {"difference": pair[0].scores(weights) - pair[1].scores(weights)},
        np.zeros(len(members), np.int64),
        Resampling(num_resamples=4_000, seed=seed),
    )
    as_they_are = np.ones((1, len(members)))
    of_new, of_old = (float(counts.scores(as_they_are)[0]) for counts in pair)
    difference = percentile_interval(of_new - of_old, drawn["difference"])
    return Compared(len(members), of_new, of_old, difference)


def count(sentences: Sequence[Gold], answers: Sequence[Any]) -> Counts:
    """Returns what a parser's answers are worth; in a refused sentence nothing is right."""
    rows = [_counted(gold, answer) for gold, answer in zip(sentences, answers, strict=True)]
    right, of_all = np.array(rows, np.float64).T
    return Counts(right, of_all)


def _counted(gold: Gold, answer: Any) -> tuple[int, int]:
    if isinstance(gold, TreebankSentence):
        tokens = AttachmentCounts()
        size = len(gold.tokens)
        nothing = DependencyParse([-1] * size, [""] * size)
        tokens.add(gold, nothing if isinstance(answer, Refusal) else answer)
        return tokens.labelled, tokens.tokens
    brackets = BracketCounts()
    size = len(gold.tokens)
    empty = ConstituencyParse([0], [size], ["TOP"], [""] * size)
    brackets.add(gold.parse, empty if isinstance(answer, Refusal) else answer)
    return 2 * brackets.matched, brackets.gold + brackets.predicted


def genres(sentences: Sequence[Gold], pattern: str) -> dict[str, list[int]]:
    """Returns the positions of each genre's sentences, in the order of the genres' names.

    Args:
        pattern: regular expression for the beginning of a document's id; its first group is the
            genre.

    Raises:
        ValueError: it is none, or has no group.
    """
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise ValueError(f"--genre {pattern!r}: {error}; give a regular expression") from error
    if not compiled.groups:
        raise ValueError(f"--genre {pattern!r}: put the part that names the genre in parentheses")
    members: dict[str, list[int]] = {}
    for position, sentence in enumerate(sentences):
        match = compiled.match(sentence.document_id)
        members.setdefault((match and match[1]) or WITHOUT_GENRE, []).append(position)
    return dict(sorted(members.items()))


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the comparison; returns 0, or 2 for a user's mistake."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = _parser().parse_args(given)
    torch.set_num_threads(1)
    try:
        folders = (options.new, options.old)
        stage = _stage(folders)
        sentences = _read(options, stage)
        groups = {"all": list(range(len(sentences))), **genres(sentences, options.genre)}
        new, old = (_score(folder, stage, sentences) for folder in folders)
    except (FileNotFoundError, ValueError) as error:
        return fail(error)
    found = {name: compare(new, old, chosen, seed=options.seed) for name, chosen in groups.items()}
    names = [path.name for path in options.files]
    text = f"{len(sentences)} sentences of {', '.join(names)}"
    run = header("benchmarks.parser_scores", given, text=text, seed=options.seed)
    print_table(_table(found, stage, [folder.name for folder in folders]), run)
    print_last_line({name: _figures(one) for name, one in found.items()})
    return 0


def _stage(folders: Sequence[Path]) -> str:
    """Returns what the first parser gives; the second must give it, too."""
    kind = named_kind(folders[0])
    if kind not in STAGE_OF_KIND:
        raise ValueError(f"{folders[0]}: this version does not know parsers of kind {kind!r}")
    return STAGE_OF_KIND[kind]


def _read(options: argparse.Namespace, stage: str) -> list[Gold]:
    excluded = tuple(options.exclude)
    if options.sentences < 1:
        raise ValueError("--sentences must be at least 1")
    sentences: list[Gold]
    if stage == "dependencies":
        if options.documents:
            raise ValueError("--documents is for bracketed trees: CoNLL-U names its documents")
        sentences = list(read_treebank(options.files, exclude_document_prefixes=excluded))
    else:
        documents = options.documents or [None] * len(options.files)
        if len(documents) != len(options.files):
            raise ValueError("give --documents one file for each file of trees, or leave it out")
        sentences = [
            sentence
            for path, of_path in zip(options.files, documents, strict=True)
            for sentence in read_bracketed(
                path, documents=of_path, exclude_document_prefixes=excluded
            )
        ]
    if not sentences:
        raise ValueError(no_sentence_in(options.files, excluded))
    return sentences[: options.sentences]


def _score(folder: Path, stage: str, sentences: Sequence[Gold]) -> Counts:
    tell(f"{folder.name}: {len(sentences):,} sentences")
    parser = load_parser(folder, stage)
    return count(sentences, parser.parse([sentence.tokens for sentence in sentences]))


def _table(found: dict[str, Compared], stage: str, names: Sequence[str]) -> Table:
    score = "LAS" if stage == "dependencies" else "F1"
    return Table(
        title=f"{score} of two parsers, by genre",
        columns=("genre", "sentences", *names, "difference", "95 % interval"),
        rows=[
            (
                name,
                str(one.num_sentences),
                f"{one.new:.2f}",
                f"{one.old:.2f}",
                f"{one.difference.value:+.2f}",
                f"[{one.difference.low:+.2f}, {one.difference.high:+.2f}]",
            )
            for name, one in found.items()
        ],
        notes=["intervals: sentences drawn again 4,000 times, the same for both parsers"],
    )


def _figures(one: Compared) -> dict[str, float | int]:
    interval = one.difference
    return {
        "sentences": one.num_sentences,
        "new": round(one.new, 3),
        "old": round(one.old, 3),
        "difference": round(interval.value, 3),
        "low": round(interval.low, 3),
        "high": round(interval.high, 3),
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.parser_scores",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("new", type=parser_folder, help="folder, or name of a parser that ships")
    add("old", type=parser_folder, help="what it is compared with")
    add("files", type=Path, nargs="+", help="CoNLL-U files, or files of bracketed trees")
    add(
        "--documents",
        type=Path,
        nargs="+",
        help="where trees are in brackets: CoNLL-U files that tell their documents, one a file",
    )
    add("--exclude", nargs="*", default=[], help="leave out documents whose id begins so")
    add("--genre", default=GENRE, help="regular expression; its first group is the genre")
    add("--sentences", type=int, default=sys.maxsize, help="take the first so many; default: all")
    add("--seed", type=int, default=0, help="of the resamples")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
