"""Scores two parsers on the same gold trees, by genre, with intervals of the differences.

    python -m benchmarks.parser_scores NEW OLD gum/dep/test.conllu ewt/dep/test.conllu
    python -m benchmarks.parser_scores NEW OLD gum/const/test.mrg --documents gum/dep/test.conllu
    python -m benchmarks.parser_scores NEW OLD gum/dep/test.conllu --careless

Both must give dependencies (LAS, all tokens, full labels) or constituents (F1 of labelled brackets
as by EVALB). A genre is what stands at the beginning of a document's id, see ``--genre``. To find
how far a difference may be chance, documents are drawn again, or sentences where there are fewer
than ten documents. ``--careless`` takes the text as chats have it, in lower case and without final
marks. The last line it prints is one JSON object.

Legend: n sentences, R resamples.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.harness import Benchmark, LackingError, Measured, Table, check_least, tell
from treeviews.models.evaluation.resampling import (
    MIN_UNITS,
    FloatArray,
    Interval,
    Resampling,
    bootstrap_scores,
    clusters_of,
    drawn_as,
    percentile_interval,
)
from treeviews.pipeline.base.bundled import parser_folder
from treeviews.pipeline.base.refusal import Refusal
from treeviews.pipeline.parser_training.constituency_training import constituents_without_final_mark
from treeviews.pipeline.parser_training.dependency_training import dependencies_without_final_mark
from treeviews.pipeline.parser_training.train_parser import in_lower_case
from treeviews.pipeline.parsers.parser_files import STAGE_OF_KIND, read_description
from treeviews.pipeline.parsers.sentence_parser import SentenceParser, load_parser
from treeviews.pipeline.trees.tree_scores import AttachmentCounts, BracketCounts
from treeviews.pipeline.trees.treebanks import (
    BracketedSentence,
    TreebankSentence,
    no_sentence_in,
    read_bracketed,
    read_treebank,
)

GENRE = r"(?:GUM_)?([A-Za-z]+)"
"""Of the ids of GUM and UD English EWT."""
WITHOUT_GENRE = "other"
NUM_RESAMPLES = 4_000
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
    num_tokens: int
    new: float
    old: float
    difference: Interval | None
    """None where there are fewer than ten sentences: the spread of so few would be a guess."""
    drawn: str
    """What was drawn again: ``document`` or ``sentence``."""


def compare(
    new: Counts, old: Counts, sentences: Sequence[Gold], chosen_n: Sequence[int], *, seed: int = 0
) -> Compared:
    """Returns the scores on the sentences at some positions, and the interval of their difference.

    Args:
        new: counts of all sentences.
        old: the same.
        chosen_n: positions in ``sentences``.

    Raises:
        ValueError: no position.
    """
    if not chosen_n:
        raise ValueError("no sentence to compare on")
    members = np.asarray(chosen_n)
    chosen = [sentences[position] for position in chosen_n]
    pair = [Counts(counts.right_n[members], counts.all_n[members]) for counts in (new, old)]
    of_new, of_old = (float(one.scores(np.ones((1, len(members))))[0]) for one in pair)
    _, documents_n = np.unique([one.document_id for one in chosen], return_inverse=True)
    clusters_n = clusters_of(members, documents_n)
    difference = None
    if len(members) >= MIN_UNITS:
        drawn = bootstrap_scores(
            lambda weights: {"difference": pair[0].scores(weights) - pair[1].scores(weights)},
            np.zeros(len(members), np.int64),
            Resampling(num_resamples=NUM_RESAMPLES, seed=seed),
            clusters_n=clusters_n,
        )
        difference = percentile_interval(of_new - of_old, drawn["difference"])
    num_tokens = sum(len(one.tokens) for one in chosen)
    return Compared(len(members), num_tokens, of_new, of_old, difference, drawn_as(clusters_n))


def count(sentences: Sequence[Gold], answers: Sequence[Any]) -> Counts:
    """Returns what a parser's answers are worth; in a refused sentence nothing is right.

    Args:
        sentences: at least one, all of one kind of tree.
        answers: as an adapter's ``parse`` gives them.
    """
    rows: list[tuple[int, int]] = []
    for gold, answer in zip(sentences, answers, strict=True):
        if isinstance(gold, TreebankSentence):
            tokens = AttachmentCounts()
            tokens.add(gold.tokens, gold.parse, answer)
            rows.append((tokens.labelled, tokens.tokens))
        else:
            brackets = BracketCounts()
            brackets.add(gold.tokens, gold.parse, answer)
            rows.append((2 * brackets.matched, brackets.gold + brackets.predicted))
    right, of_all = np.array(rows, np.float64).T
    return Counts(right, of_all)


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


def _measure(options: argparse.Namespace) -> Measured:
    torch.set_num_threads(1)
    check_least(options, sentences=1)
    stage = _stage(options.new)
    parsers = {name: load_parser(getattr(options, name), stage) for name in ("new", "old")}
    sentences = _read(options, stage)
    groups = genres(sentences, options.genre)
    answers = {name: _parsed(name, parser, sentences) for name, parser in parsers.items()}
    new, old = (count(sentences, of_parser) for of_parser in answers.values())
    total = compare(new, old, sentences, range(len(sentences)), seed=options.seed)
    found = {
        name: compare(new, old, sentences, chosen, seed=options.seed)
        for name, chosen in groups.items()
    }
    refused = {name: sum(isinstance(one, Refusal) for one in answers[name]) for name in answers}
    notes = [
        f"{name}: {getattr(options, name)}, checksum {parser.checksum[:12]}; "
        f"{refused[name]} sentences refused"
        for name, parser in parsers.items()
    ]
    figures = {
        **asdict(total),
        "genres": {name: asdict(one) for name, one in found.items()},
        "checksums": {name: parser.checksum for name, parser in parsers.items()},
        "refused": refused,
    }
    how = ", in lower case and without final marks" if options.careless else ""
    text = f"{len(sentences)} sentences of {', '.join(map(str, options.files))}{how}"
    table = _table({"all": total, **found}, stage, notes)
    return Measured([table], figures, text=text, seed=options.seed)


def _stage(folder: Path) -> str:
    """Returns what a parser gives."""
    kind = read_description(folder).kind
    if kind not in STAGE_OF_KIND:
        raise ValueError(f"{folder}: this version does not know parsers of kind {kind!r}")
    return STAGE_OF_KIND[kind]


def _read(options: argparse.Namespace, stage: str) -> list[Gold]:
    files, excluded = options.files, tuple(options.exclude)
    if lacking := [path for path in [*files, *(options.documents or ())] if not path.is_file()]:
        raise LackingError(f"{lacking[0]}: no such file; name a file of gold trees")
    sentences: list[Gold]
    if stage == "dependencies":
        if options.documents:
            raise ValueError("--documents is for bracketed trees: CoNLL-U names its documents")
        sentences = list(read_treebank(files, exclude_document_prefixes=excluded))
    else:
        sentences = [sentence for path in files for sentence in read_bracketed(path)]
        if options.documents:
            described = read_treebank(options.documents)
            pairs = list(zip(sentences, described, strict=True))
            if any(len(tree.tokens) != len(other.tokens) for tree, other in pairs):
                raise ValueError("--documents are of other sentences than the files of trees")
            sentences = [replace(tree, document_id=other.document_id) for tree, other in pairs]
        sentences = [s for s in sentences if not s.document_id.startswith(excluded)]
    if not sentences:
        raise ValueError(no_sentence_in(files, excluded))
    chosen = sentences[: options.sentences]
    return [careless(sentence) for sentence in chosen] if options.careless else chosen


def careless(sentence: Gold) -> Gold:
    """Returns a sentence in lower case and, where its tree allows it, without its final mark."""
    if isinstance(sentence, TreebankSentence):
        return in_lower_case(dependencies_without_final_mark(sentence))
    return in_lower_case(constituents_without_final_mark(sentence))


def _parsed(name: str, parser: SentenceParser[Any], sentences: Sequence[Gold]) -> list[Any]:
    tell(f"{name}: {len(sentences):,} sentences")
    return list(parser.parse([sentence.tokens for sentence in sentences]))


def _table(found: dict[str, Compared], stage: str, notes: Sequence[str]) -> Table:
    score = "LAS" if stage == "dependencies" else "F1"
    unknown = any(one.difference is None for one in found.values())
    few = f"-: fewer than {MIN_UNITS} sentences, too few to tell how far it is chance"
    return Table(
        title=f"{score} of two parsers, by genre",
        columns=("genre", "sentences", "tokens", "new", "old", "difference", "95 %", "drawn"),
        rows=[
            (
                name,
                str(one.num_sentences),
                str(one.num_tokens),
                f"{one.new:.2f}",
                f"{one.old:.2f}",
                f"{one.new - one.old:+.2f}",
                "-" if (gap := one.difference) is None else f"[{gap.low:+.2f}, {gap.high:+.2f}]",
                "-" if gap is None else f"{one.drawn}s",
            )
            for name, one in found.items()
        ],
        notes=[
            f"intervals: documents or sentences drawn again {NUM_RESAMPLES:,} times, the same for "
            "both parsers; where sentences were drawn, other documents may differ more",
            *([few] if unknown else []),
            *notes,
        ],
    )


def _add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("new", type=parser_folder, help="folder, or name of a parser that ships")
    add("old", type=parser_folder, help="what it is compared with")
    add("files", type=Path, nargs="+", help="CoNLL-U files, or files of bracketed trees")
    help_text = "where trees are in brackets: CoNLL-U files that tell their documents, one a file"
    add("--documents", type=Path, nargs="+", help=help_text)
    add("--exclude", nargs="*", default=[], help="leave out documents whose id begins so")
    add("--genre", default=GENRE, help="regular expression; its first group is the genre")
    add("--sentences", type=int, default=sys.maxsize, help="take the first so many; default: all")
    help_text = "take the text in lower case and without final marks"
    add("--careless", action="store_true", help=help_text)
    add("--seed", type=int, default=0, help="of the resamples")


main = Benchmark("benchmarks.parser_scores", __doc__ or "", _add_options, _measure, {})

if __name__ == "__main__":
    sys.exit(main())
