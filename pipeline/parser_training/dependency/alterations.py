"""Training sentences as careless text would have them: the same tree, other tokens.

Treebanks are edited text. Chats have no capitals, headings no final mark, and sentences cut from
pages begin with the mark of a list. Relations of such marks follow the UD English treebanks:
numbers and letters are ``discourse``, bullets ``punct``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from pipeline.trees.treebanks import TreebankSentence

RELATIONS_OF_MARKS = frozenset({"discourse", "punct"})
"""Of the marks of lists."""
_FINAL_MARKS = frozenset(".!?;:")
_BULLETS = ("-", "*", "•", "–")
_NAMES = (*map(str, range(1, 21)), *"abcdefghABCDEFGH")
LIST_MARKS = frozenset({*_BULLETS, *_NAMES, *(f"{name}." for name in _NAMES), "(", ")", "."})
"""Every token that a mark may have."""
LONGEST_LIST_MARK = 3
"""Tokens by which an altered sentence may be longer."""


def altered(
    sentence: TreebankSentence, random: np.random.Generator, *, with_marks: bool = True
) -> TreebankSentence:
    """Returns the sentence in lower case, without its final mark or with a list's mark before it.

    Which one is drawn. A sentence without capitals, or without a final mark, may so stay as it is.

    Args:
        with_marks: whether a list's mark may come before it.
    """
    ways: list[Callable[[], TreebankSentence]] = [
        lambda: in_lower_case(sentence),
        lambda: without_final_mark(sentence),
    ]
    if with_marks:
        ways.append(lambda: with_list_mark(sentence, random))
    return ways[int(random.integers(len(ways)))]()


def in_lower_case(sentence: TreebankSentence) -> TreebankSentence:
    """Returns the sentence without capitals."""
    return replace(sentence, tokens=[token.lower() for token in sentence.tokens])


def without_final_mark(sentence: TreebankSentence) -> TreebankSentence:
    """Returns the sentence without its last token, where that is a mark on which nothing hangs."""
    last = len(sentence.tokens)
    is_mark = sentence.tokens[-1] in _FINAL_MARKS and sentence.deprels[-1] == "punct"
    if last < 2 or not is_mark or last in sentence.heads:
        return sentence
    return _cut(sentence, last - 1)


def with_list_mark(sentence: TreebankSentence, random: np.random.Generator) -> TreebankSentence:
    """Returns the sentence after ``-``, ``3.``, ``b )`` or the like, which hangs on its root."""
    tokens, heads, relations = _list_mark(random)
    shift = len(tokens)
    root = sentence.heads.index(0) + 1 + shift
    return replace(
        sentence,
        tokens=tokens + sentence.tokens,
        heads=[root if head == 0 else head for head in heads]
        + [head + shift if head else 0 for head in sentence.heads],
        deprels=relations + sentence.deprels,
        xpos=[],
    )


def _list_mark(random: np.random.Generator) -> tuple[list[str], list[int], list[str]]:
    """Returns tokens, their heads in the sentence (0: its root) and relations."""
    if random.random() < 1 / 3:
        return [str(random.choice(_BULLETS))], [0], ["punct"]
    name = str(random.choice(_NAMES))
    numbered: tuple[tuple[list[str], list[int], list[str]], ...] = (
        ([f"{name}."], [0], ["discourse"]),
        ([name, "."], [0, 1], ["discourse", "punct"]),
        ([name, ")"], [0, 1], ["discourse", "punct"]),
        (["(", name, ")"], [2, 0, 2], ["punct", "discourse", "punct"]),
    )
    return numbered[int(random.integers(len(numbered)))]


def _cut(sentence: TreebankSentence, length: int) -> TreebankSentence:
    return replace(
        sentence,
        tokens=sentence.tokens[:length],
        heads=sentence.heads[:length],
        deprels=sentence.deprels[:length],
        xpos=sentence.xpos[:length],
    )
