"""Tokens of chunks, which are what stands between two spaces, each cut once and then remembered.

spaCy cuts each chunk by itself. Only its last step looks further: where the parts of a chunk make
up a special case (``:`` and ``)`` in ``smile:)``), they are joined or cut anew, unless a longer run
of parts that are a special case's goes over them, and that run may reach into the next chunk
(``smile:) )``). Such chunks are told apart here: in a text of several, only spaCy knows them.

Most chunks are new ones made in an old way: letters and digits with marks among them. spaCy's rules
ask of a letter whether it is lower or upper case and nothing else, but for the words of special
cases and a few units and endings; of a digit nothing but in addresses of machines. So a chunk whose
other letters and digits are exchanged for one of their kind is cut at the same places, and many
chunks have one pattern.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

MAX_CHARACTERS = 1 << 20
"""Of all chunks that are remembered: of ordinary ones as many as `MAX_KNOWN`, of long ones less."""
MAX_KNOWN = 1 << 17
"""Chunks or patterns that are remembered; then all are forgotten, so that memory is bounded."""

Cut = Callable[[Sequence[str]], Sequence[Sequence[str]]]
"""Chunks -> the tokens of each; many at once, for spaCy takes longer to begin a text than to cut a
chunk."""

_PLAIN = re.compile(r"(?:[!-/:-~’‘“”–—…]++|[0-9]++(?:\.[0-9]++)?(?!\.[0-9]))+")
"""Chunks with patterns: all of ASCII and marks of prose, no three numbers between dots."""
_RUN = re.compile(r"(?<![0-9A-Za-z])[A-Za-z]+|[0-9]+")
"""What stand-ins are for; letters behind a digit may be a unit."""
_LONG = re.compile("q{5,}")
_SHORT = "qqqq"
"""No rule counts more than two letters but in addresses, of 64 characters."""
_MOST_SHORTENED = 60
_WORD = re.compile(r"[A-Za-z]+|[0-9]+")
_STAND_INS = str.maketrans(
    string.ascii_lowercase + string.ascii_uppercase + string.digits, "q" * 26 + "Q" * 26 + "7" * 10
)
_NAMED = frozenset({"s", "S", "h", "US", "C", "A"})
"""Letters that spaCy's rules name beside special cases: in ``'s``, ``km/h``, ``m/s``, ``US$``."""


class ChunkTokens(NamedTuple):
    """The tokens of one chunk."""

    words: tuple[str, ...]
    stands: bool
    """Whether they are the same in every text; else only spaCy knows them in a longer one."""


@dataclass(frozen=True, slots=True)
class _Pattern:
    """Where a chunk is cut."""

    ends: tuple[int, ...]
    """The last one is the chunk's own."""
    stands: bool


class ChunkCutter:
    """Cuts chunks as spaCy does, those of a known pattern without asking it."""

    def __init__(self, cut: Cut, cut_in_parts: Cut, special_cases: Mapping[str, Sequence[str]]):
        """Takes the rules.

        Args:
            cut: gives the tokens of a chunk.
            cut_in_parts: those before special cases are looked for among them.
            special_cases: text -> its tokens.
        """
        self._cut, self._cut_in_parts = cut, cut_in_parts
        self._case_tokens = {token for tokens in special_cases.values() for token in tokens}
        runs = {run for case in special_cases for run in _WORD.findall(case)}
        self._as_they_are = frozenset(runs | _NAMED)
        self._patterns: dict[str, _Pattern] = {}

    def cut(self, chunks: Sequence[str]) -> list[ChunkTokens]:
        """Returns the tokens of each chunk, none of which is empty or holds a space."""
        if len(self._patterns) > MAX_KNOWN:
            self._patterns.clear()
        forms = list(map(self._form, chunks))
        shorts = [
            _LONG.sub(_SHORT, f) if len(_SHORT) < len(f) < _MOST_SHORTENED else f for f in forms
        ]
        asked = [short or chunk for short, chunk in zip(shorts, chunks, strict=True)]
        new = [text for text in dict.fromkeys(asked) if text not in self._patterns]
        learned = dict(zip(new, self._learn(new), strict=True)) if new else {}
        self._patterns.update({short: learned[short] for short in shorts if short in learned})
        found = [learned.get(text) or self._patterns[text] for text in asked]
        return [_tokens(*each) for each in zip(chunks, forms, found, strict=True)]

    def _form(self, chunk: str) -> str:
        """Returns a chunk with stand-ins, of which its pattern is; nothing if it is its own."""
        if chunk.isalpha() and chunk.isascii() and chunk not in self._as_they_are:
            return _SHORT
        return _RUN.sub(self._stand_in, chunk) if _PLAIN.fullmatch(chunk) else ""

    def _stand_in(self, found: re.Match[str]) -> str:
        run = found[0]
        if run in self._as_they_are:
            return run
        other = run.translate(_STAND_INS)
        return run if other in self._as_they_are else other

    def _learn(self, chunks: Sequence[str]) -> Iterator[_Pattern]:
        cut = self._cut(chunks)
        # What a special case has changed is among its tokens.
        suspects = [
            chunk
            for chunk, words in zip(chunks, cut, strict=True)
            if not self._case_tokens.isdisjoint(words)
        ]
        in_parts = dict(zip(suspects, self._cut_in_parts(suspects), strict=True))
        for chunk, words in zip(chunks, cut, strict=True):
            changed = words != in_parts.get(chunk, words)
            is_one = chunk.split() == [chunk]  # other white space may join that beside it
            yield _Pattern(tuple(accumulate(map(len, words))), stands=is_one and not changed)


def _tokens(chunk: str, form: str, pattern: _Pattern) -> ChunkTokens:
    """Returns the tokens of a chunk, from the ends in its form with its runs shortened."""
    ends = pattern.ends
    if len(ends) == 1:
        return ChunkTokens((chunk,), pattern.stands)
    if ends[-1] < len(chunk):
        ends = _lengthened(ends, form)
    if len(ends) == 2:  # mostly a word and a mark
        return ChunkTokens((chunk[: ends[0]], chunk[ends[0] :]), pattern.stands)
    words = tuple([chunk[start:end] for start, end in zip((0, *ends), ends, strict=False)])
    return ChunkTokens(words, pattern.stands)


def _lengthened(ends: tuple[int, ...], form: str) -> tuple[int, ...]:
    """Returns the ends of tokens in a form, from those in the form with its runs shortened."""
    longer = list(ends)
    for run in _LONG.finditer(form):  # the part before it is lengthened already
        more = run.end() - run.start() - len(_SHORT)
        longer = [end + more if end > run.start() else end for end in longer]
    return tuple(longer)
