"""Tokens of a text as it was given: cleaned, cut and split as a corpus is, with places in the text.

Cleaning drops what no tokenizer should see, so a place in the cleaned text is none in the given
one. Each word keeps the place where it stood.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count

from treeviews.pipeline.text.boundaries import sentence_ranges
from treeviews.pipeline.text.tokenization import (
    EnglishTokenizer,
    TokenizedText,
    clean_text,
    kept_positions,
)

_BLANK_LINE = re.compile(r"\n\s*\n")
"""Ends a paragraph, and so a sentence, as in text files."""

Offsets = list[tuple[int, int]]
"""First character of each token, and one past its last."""


@dataclass(frozen=True, slots=True)
class AlignedSentence:
    """One sentence of n tokens and where they stand."""

    source: int
    """Which of the texts it is of, from 0."""
    number: int
    """Which of the text's sentences it is, from 0."""
    start: int
    """Where ``text`` begins in the given text."""
    text: str
    """The sentence as it was given."""
    words: list[str]
    """Length n; the tokens as a parser reads them, without soft hyphens and zero-width spaces."""
    offsets: Offsets
    """Length n; in the given text."""

    @property
    def tokens(self) -> list[str]:
        """Length n; the tokens as they stand in the given text."""
        return [self.text[a - self.start : b - self.start] for a, b in self.offsets]


def whole_texts(
    texts: Sequence[str], tokenizer: EnglishTokenizer, *, first: int = 0
) -> list[AlignedSentence]:
    """Returns each text as one sentence, whatever it holds; of an empty one, no tokens.

    Args:
        first: number of the first text.
    """
    tokenized = _tokenized(texts, tokenizer)
    return [
        AlignedSentence(source, 0, 0, text, words, offsets)
        for source, (text, (words, _, offsets)) in enumerate(
            zip(texts, tokenized, strict=True), first
        )
    ]


def split_texts(
    texts: Sequence[str], tokenizer: EnglishTokenizer, *, first: int = 0
) -> list[AlignedSentence]:
    """Returns the sentences of texts, of which an empty one has none.

    A blank line ends a sentence, and so does what `pipeline.text.boundaries` says.

    Args:
        first: number of the first text.
    """
    paragraphs = [
        (source, start, text[start:end])
        for source, text in enumerate(texts, first)
        for start, end in _paragraphs(text)
    ]
    tokenized = zip(paragraphs, _tokenized([p[2] for p in paragraphs], tokenizer), strict=True)
    numbers = defaultdict[int, Iterator[int]](count)
    return [
        aligned_sentence(text, words[a:b], offsets[a:b], base, next(numbers[source]), source)
        for (source, base, text), (words, spaces, offsets) in tokenized
        for a, b in sentence_ranges(words, spaces)
    ]


def aligned_sentence(
    text: str, words: list[str], offsets: Offsets, base: int, number: int = 0, source: int = 0
) -> AlignedSentence:
    """Returns a sentence of a paragraph with where it stands in the text that the paragraph is of.

    Args:
        text: the paragraph.
        words: length n; the sentence's.
        offsets: length n; of the words in the paragraph.
        base: characters of the text before the paragraph.
        number: of the sentence.
        source: number of the text.
    """
    first, last = offsets[0][0], offsets[-1][1]
    places = [(base + start, base + end) for start, end in offsets]
    return AlignedSentence(source, number, base + first, text[first:last], words, places)


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    blanks = [blank.span() for blank in _BLANK_LINE.finditer(text)]
    borders = [0, *chain.from_iterable(blanks), len(text)]
    return zip(borders[::2], borders[1::2], strict=True)


def _tokenized(
    texts: Sequence[str], tokenizer: EnglishTokenizer
) -> Iterator[tuple[list[str], list[bool], Offsets]]:
    """Yields each text's words, whether white space follows each, and their offsets."""
    cleaned = [clean_text(text)[0] for text in texts]
    for text, clean, tokens in zip(texts, cleaned, tokenizer.tokenize(cleaned), strict=True):
        yield tokens.words, tokens.spaces, word_offsets(text, clean, tokens)


def word_offsets(text: str, clean: str, tokens: TokenizedText) -> Offsets:
    """Returns where the words of a text stand in it.

    Args:
        text: as it was given.
        clean: the same, cleaned, of which the tokens are.
    """
    kept = None if clean == text else kept_positions(text)
    offsets: Offsets = []
    start = 0
    for word, space in zip(tokens.words, tokens.spaces, strict=True):
        end = start + len(word)
        offsets.append((start, end) if kept is None else (kept[start], kept[end - 1] + 1))
        start = end + (space and kept is None)
    return offsets
