"""What careless text changes in a sentence with constituents."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from pipeline.parser_training.epochs.alterations import (
    FINAL_MARKS,
    TAGS_OF_MARKS,
    Alterations,
    ListMark,
    with_capital,
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
        as_command=(lambda s, random: known(as_command(s, random), s)) if "." in tags else None,
        lacking=TAGS_OF_MARKS.difference(tags),
    )


def as_command(sentence: BracketedSentence, random: np.random.Generator) -> BracketedSentence:
    """Returns what a verb in base form begins, as a command: ``Go home.`` of ``They must go home.``

    One of those after a modal verb or ``to``, of two tokens or more. A sentence without any stays
    as it is. Treebanks of edited text have few commands.
    """
    parse = sentence.parse
    found = [
        place
        for place, end in enumerate(parse.ends)
        if _is_infinitive(parse, place) and sentence.tokens[end - 1] not in FINAL_MARKS
    ]
    if not found:
        return sentence
    place = found[int(random.integers(len(found)))]
    start, end = parse.starts[place], parse.ends[place]
    inside = [(s - start, e - start, label) for s, e, label in _spans(parse)[place:] if e <= end]
    first, *others = sentence.tokens[start:end]
    spans = [(0, end - start + 1, "S"), *inside]
    return replace(
        sentence,
        tokens=[with_capital(first), *others, "."],
        parse=_parse(spans, [*parse.tags[start:end], "."]),
    )


def without_final_mark(sentence: BracketedSentence) -> BracketedSentence:
    """Returns the sentence without its last token, where that is a mark that is no constituent.

    A constituent that is left with one child joins it in a unary chain.
    """
    parse, last = sentence.parse, len(sentence.tokens) - 1
    if last < 1 or sentence.tokens[-1] not in FINAL_MARKS or last in parse.starts:
        return sentence
    spans: list[tuple[int, int, str]] = []
    for start, end, label in _spans(parse):
        chain = label
        if spans and spans[-1][:2] == (start, min(end, last)):
            above = spans.pop()[2]
            chain = label if above == TOP_LABEL else f"{above}{CHAIN_MARK}{label}"
        spans.append((start, min(end, last), chain))
    return replace(sentence, tokens=sentence.tokens[:-1], parse=_parse(spans, parse.tags[:-1]))


def with_list_mark(sentence: BracketedSentence, mark: ListMark) -> BracketedSentence:
    """Returns the sentence after the mark, whose tokens its highest constituent takes in."""
    parse, length, shift = sentence.parse, len(sentence.tokens), len(mark.tokens)
    highest, _, below = parse.labels[0].partition(CHAIN_MARK)
    spans = [(0, length + shift, highest)]
    if below:
        spans.append((shift, length + shift, below))
    spans += [(start + shift, end + shift, label) for start, end, label in _spans(parse)[1:]]
    return replace(
        sentence, tokens=mark.tokens + sentence.tokens, parse=_parse(spans, mark.tags + parse.tags)
    )


def _is_infinitive(parse: ConstituencyParse, place: int) -> bool:
    """Tells whether a constituent begins with an infinitive after a modal or ``to``.

    One that a verb phrase follows at once is an auxiliary, and is left out.
    """
    start, end, label = _spans(parse)[place]
    if label != "VP" or start == 0 or end - start < 2 or parse.tags[start] != "VB":
        return False
    of_auxiliary = (start + 1, "VP") in zip(parse.starts, parse.labels, strict=True)
    return parse.tags[start - 1] in {"MD", "TO"} and not of_auxiliary


def _spans(parse: ConstituencyParse) -> list[tuple[int, int, str]]:
    """Returns start, end and label of each constituent, in preorder."""
    return list(zip(parse.starts, parse.ends, parse.labels, strict=True))


def _parse(spans: list[tuple[int, int, str]], tags: list[str]) -> ConstituencyParse:
    starts, ends, labels = map(list, zip(*spans, strict=True))
    return ConstituencyParse(starts=starts, ends=ends, labels=labels, tags=tags)
