"""Tokens of chunks, which are what stands between two spaces, each cut once and then remembered.

spaCy cuts each chunk by itself. Only its last step looks further: where the parts of a chunk make
up a special case (``:`` and ``)`` in ``smile:)``), they are joined or cut anew, unless a longer run
of parts that are a special case's goes over them, and that run may reach into the next chunk
(``smile:) )``). Such chunks are told apart here: in a text of several, only spaCy knows them.

Most chunks are new ones made in an old way: letters, or digits, with marks around them. spaCy's
rules ask of a letter whether it is lower or upper case, and nothing else, but for the words that
special cases are made of and a few units and endings. So a chunk whose other letters and digits are
exchanged for one of their kind is cut at the same places, and many chunks have one pattern.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

MAX_KNOWN = 1 << 16
"""Patterns that are remembered; then all are forgotten, so that memory is bounded."""

Cut = Callable[[str], Sequence[str]]

_MARKS = r""",;:!?()\[\]"'’‘“”–—…-"""
_PLAIN = re.compile(
    rf"(?:[A-Za-z]++(?![0-9])|[0-9]++(?:\.[0-9]++)?(?![A-Za-z]|\.[0-9])|[{_MARKS}]|\.(?![A-Za-z0-9]))+"
)
"""Chunks with patterns. No unit stands behind a number, and nothing can be an address."""
_RUN = re.compile(r"[A-Za-z]+|[0-9]+")
_STAND_INS = str.maketrans(
    string.ascii_lowercase + string.ascii_uppercase + string.digits, "q" * 26 + "Q" * 26 + "7" * 10
)
_ENDINGS = frozenset({"s", "S"})
"""What spaCy's rules name, behind an apostrophe, beside the special cases."""


@dataclass(frozen=True, slots=True)
class ChunkTokens:
    """The tokens of one chunk."""

    words: tuple[str, ...]
    stands: bool
    """Whether they are the same in every text; else only spaCy knows them in a longer one."""


@dataclass(frozen=True, slots=True)
class _Pattern:
    """Where a chunk is cut."""

    ends: tuple[int, ...]
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
        runs = {run for case in special_cases for run in _RUN.findall(case)}
        self._as_they_are = frozenset(runs | _ENDINGS)
        self._patterns: dict[str, _Pattern] = {}

    def cut(self, chunks: Iterable[str]) -> list[ChunkTokens]:
        """Returns the tokens of each chunk, none of which is empty or holds a space."""
        if len(self._patterns) > MAX_KNOWN:
            self._patterns.clear()
        return [self._tokens(chunk) for chunk in chunks]

    def _tokens(self, chunk: str) -> ChunkTokens:
        if not _PLAIN.fullmatch(chunk):
            pattern = self._learn(chunk)
        else:
            form = _RUN.sub(self._stand_in, chunk)
            known = self._patterns.get(form)
            if known is None:
                known = self._patterns[form] = self._learn(form)
            pattern = known
        ends = pattern.ends
        if len(ends) == 1:
            return ChunkTokens((chunk,), pattern.stands)
        words = tuple(chunk[start:end] for start, end in zip((0, *ends), ends, strict=False))
        return ChunkTokens(words, pattern.stands)

    def _stand_in(self, found: re.Match[str]) -> str:
        run = found[0]
        if run in self._as_they_are:
            return run
        other = run.translate(_STAND_INS)
        return run if other in self._as_they_are else other

    def _learn(self, chunk: str) -> _Pattern:
        words = self._cut(chunk)
        # What a special case has changed is among its tokens.
        changed = not self._case_tokens.isdisjoint(words) and words != self._cut_in_parts(chunk)
        is_one = chunk.split() == [chunk]  # other white space than spaces may join that beside it
        return _Pattern(tuple(accumulate(map(len, words))), stands=is_one and not changed)
