"""What careless text changes in a sentence with dependencies."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from pipeline.parser_training.epochs.alterations import (
    FINAL_MARKS,
    RELATIONS_OF_MARKS,
    Alterations,
    ListMark,
)
from pipeline.trees.treebanks import TreebankSentence


def dependency_alterations(
    share: float, relations: Collection[str]
) -> Alterations[TreebankSentence]:
    """Returns what draws a share of the sentences, for a parser that knows these relations."""
    return Alterations(
        share,
        without_final_mark=without_final_mark,
        with_list_mark=with_list_mark,
        lacking=RELATIONS_OF_MARKS.difference(relations),
    )


def without_final_mark(sentence: TreebankSentence) -> TreebankSentence:
    """Returns the sentence without its last token, where that is a mark on which nothing hangs."""
    last = len(sentence.tokens)
    is_mark = sentence.tokens[-1] in FINAL_MARKS and sentence.deprels[-1] == "punct"
    if last < 2 or not is_mark or last in sentence.heads:
        return sentence
    return replace(
        sentence,
        tokens=sentence.tokens[:-1],
        heads=sentence.heads[:-1],
        deprels=sentence.deprels[:-1],
        xpos=sentence.xpos[:-1],
    )


def with_list_mark(sentence: TreebankSentence, mark: ListMark) -> TreebankSentence:
    """Returns the sentence after the mark, which hangs on its root."""
    shift = len(mark.tokens)
    root = sentence.heads.index(0) + 1 + shift
    return replace(
        sentence,
        tokens=mark.tokens + sentence.tokens,
        heads=[root if head == 0 else head for head in mark.heads]
        + [head + shift if head else 0 for head in sentence.heads],
        deprels=mark.relations + sentence.deprels,
        xpos=[],
    )
