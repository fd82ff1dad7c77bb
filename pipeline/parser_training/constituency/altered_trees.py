"""What careless text changes in a sentence with constituents."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from pipeline.parser_training.epochs.alterations import (
    FINAL_MARKS,
    TAGS_OF_MARKS,
    Alterations,
    ListMark,
)
from pipeline.trees.flat import CHAIN_MARK, TOP_LABEL
from pipeline.trees.parses import ConstituencyParse
from pipeline.trees.treebanks import BracketedSentence


def constituency_alterations(
    share: float, labels: Collection[str], tags: Collection[str]
) -> Alterations[BracketedSentence]:
    """Returns what draws a share of the sentences, for a parser that knows these names.

    Args:
        share: see `ParserTrainingConfig.altered_share`.
        labels: of constituents, unary chains as in `ConstituencyParse`. A sentence whose altered
            tree would have another stays as it is.
        tags: parts of speech.
    """

    def known(after: BracketedSentence, before: BracketedSentence) -> BracketedSentence:
        return after if set(after.parse.labels) <= known_labels else before

    known_labels = set(labels)
    return Alterations(
        share,
        without_final_mark=lambda s: known(without_final_mark(s), s),
        with_list_mark=lambda s, mark: known(with_list_mark(s, mark), s),
        lacking=TAGS_OF_MARKS.difference(tags),
    )


def without_final_mark(sentence: BracketedSentence) -> BracketedSentence:
    """Returns the sentence without its last token, where that is a mark that is no constituent.

    A constituent that is left with one child joins it in a unary chain.
    """
    parse, last = sentence.parse, len(sentence.tokens) - 1
    if last < 1 or sentence.tokens[-1] not in FINAL_MARKS or last in parse.starts:
        return sentence
    spans: list[tuple[int, int]] = []
    labels: list[str] = []
    for start, end, label in zip(parse.starts, parse.ends, parse.labels, strict=True):
        span = (start, min(end, last))
        if spans and span == spans[-1]:
            above = labels.pop()
            labels.append(label if above == TOP_LABEL else f"{above}{CHAIN_MARK}{label}")
        else:
            spans.append(span)
            labels.append(label)
    return replace(
        sentence, tokens=sentence.tokens[:-1], parse=_parse(spans, labels, parse.tags[:-1])
    )


def with_list_mark(sentence: BracketedSentence, mark: ListMark) -> BracketedSentence:
    """Returns the sentence after the mark, whose tokens its highest constituent takes in."""
    parse, length, shift = sentence.parse, len(sentence.tokens), len(mark.tokens)
    highest, _, below = parse.labels[0].partition(CHAIN_MARK)
    spans, labels = [(0, length + shift)], [highest]
    if below:
        spans.append((shift, length + shift))
        labels.append(below)
    spans += [(s + shift, e + shift) for s, e in zip(parse.starts[1:], parse.ends[1:], strict=True)]
    labels += parse.labels[1:]
    return replace(
        sentence,
        tokens=mark.tokens + sentence.tokens,
        parse=_parse(spans, labels, mark.tags + parse.tags),
    )


def _parse(spans: list[tuple[int, int]], labels: list[str], tags: list[str]) -> ConstituencyParse:
    return ConstituencyParse(
        starts=[start for start, _ in spans],
        ends=[end for _, end in spans],
        labels=labels,
        tags=tags,
    )
