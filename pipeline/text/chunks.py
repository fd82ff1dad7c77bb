"""Tokens of chunks, which are what stands between two spaces, many chunks at once.

spaCy cuts each chunk by itself. Only its last step looks further: where the parts of a chunk make
up a special case (``:`` and ``)`` in ``smile:)``), they are joined or cut anew, unless a longer run
of parts that are a special case's goes over them, and that run may reach into the next chunk
(``smile:) )``). Such chunks are told apart here: in a text of several, only spaCy knows them.

Most chunks are letters and digits with marks among them. spaCy's rules ask of a letter whether it
is lower or upper case and nothing else, but for the words of special cases and a few units and
endings; of a digit nothing but in addresses of machines. So a chunk whose other letters and digits
are exchanged for one of their kind is cut at the same places. A few hundred such forms are those of
most chunks; spaCy is asked of each once, and what it says is remembered.

Those of ordinary text ship in a file, for importing spaCy takes two seconds (its thinc imports
torch). The file names the versions of spaCy and of our rules; with others it is passed over and
spaCy is asked. It is made by ``python data/make_english.py``.

Legend: C chunks, B their bytes (UTF-8), T their tokens.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from treeviews.pipeline.shards.arrow import gather_ranges, strings, values_of

MAX_CHARACTERS = 1 << 20
"""Of all forms that are remembered: those of `MAX_KNOWN` ordinary ones, or of fewer long ones."""
MAX_KNOWN = 1 << 17
"""Forms that are remembered from call to call; of more, all are forgotten at the next call but
those that were known from the start."""

Cut = Callable[[Sequence[str]], Sequence[Sequence[str]]]
"""Chunks -> the tokens of each."""


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """How chunks are cut."""

    cut: Cut
    """Gives the tokens of a chunk."""
    cut_in_parts: Cut
    """Those before special cases are looked for among them."""
    special_cases: Mapping[str, Sequence[str]]
    """Text -> its tokens."""

    def named(self) -> frozenset[str]:
        """Returns the runs of letters or digits that have a meaning, which no stand-in takes."""
        return _NAMED.union(*map(_WORD.findall, self.special_cases))


@dataclass(frozen=True, slots=True, eq=False)
class KnownForms:
    """Forms whose cuts are known from the start, so that few texts need the rules at all."""

    named: frozenset[str]
    """See `Rules.named`."""
    forms: Sequence[str]
    """Each as its tokens with a space between them; all stand in every text."""


FORM_FIELDS = ("rules", "named", "forms")
FORMS_REMEDY = "get the file anew, or make it by python data/make_english.py"


Bytes = NDArray[np.uint8]
Mask = NDArray[np.bool_]
Places = NDArray[np.int64]

_STAND_INS = np.arange(256, dtype=np.uint8)
"""Byte -> its stand-in."""
_MARK, _LETTER, _DIGIT = range(3)
_KINDS = np.full(256, _MARK, dtype=np.uint8)
for _characters, _kind, _stand_in in (
    (string.ascii_lowercase, _LETTER, "q"),
    (string.ascii_uppercase, _LETTER, "Q"),
    (string.digits, _DIGIT, "7"),
):
    _STAND_INS[list(_characters.encode())] = ord(_stand_in)
    _KINDS[list(_characters.encode())] = _kind
_MARKS_OF_PROSE = np.array([list(mark.encode()) for mark in "’‘“”–—…"], dtype=np.uint8)
"""Three bytes each, of which the first two are the same."""

_WORD = re.compile(r"[A-Za-z]+|[0-9]+")
_NAMED = frozenset({"s", "S", "h", "US", "C", "A", *string.digits})
"""What spaCy's rules name beside special cases: letters in ``'s``, ``km/h``, ``m/s``, ``US$``."""
_LEFT = 2
"""Letters of one case that are left of a longer run: no rule counts more but in addresses, of 64
characters."""
_MOST_SHORTENED = 60
"""Bytes that a chunk must have to stay as long as it is."""


@dataclass(frozen=True, slots=True, eq=False)
class CutChunks:
    """The tokens of chunks."""

    words: pa.Array
    """[T] large strings."""
    offsets: Places
    """[C + 1]; chunk c has the tokens ``offsets[c]:offsets[c + 1]``."""
    stands: Mask
    """[C]; whether they are the same in every text; else only spaCy knows them in a longer one."""


class _FormCut(NamedTuple):
    """Where a form is cut."""

    ends: Sequence[int]
    """Its tokens end at these bytes."""
    stands: bool
    """Whether it is cut there in every text."""


_NO_CHUNK = _FormCut((), stands=False)
"""Of nothing: two spaces are no single one."""


class ChunkCutter:
    """Cuts chunks as spaCy does, those of a known form without asking it; one thread at a time."""

    def __init__(self, rules: Callable[[], Rules], known: KnownForms | None = None):
        """Takes the rules, which are asked for when a form is met that is not known.

        Args:
            rules: gives them, always the same.
            known: what they make of some forms; None: nothing is known.
        """
        self._rules = rules
        named = rules().named() if known is None else known.named
        assert not any(re.fullmatch("[qQ]+|77+", run) for run in named), "a stand-in has a meaning"
        self._named = strings(sorted(named))
        self._known = {form.replace(" ", ""): form for form in known.forms} if known else {}
        self._cuts = {"": _NO_CHUNK}
        self._characters = 0

    @cached_property
    def _tell_tales(self) -> frozenset[str]:
        """Each special case is told by its longest token; one of a single character is none."""
        cases = self._rules().special_cases
        return frozenset(max(cases[case], key=len) for case in cases if case[1:])

    def cut(self, chunks: pa.Array) -> CutChunks:
        """Returns the tokens of each chunk.

        Args:
            chunks: [C] large strings, none of which holds a space.
        """
        text, offsets = _flat(chunks)
        form, left, form_offsets = self._form(text, offsets)
        forms = _strings(form, form_offsets).dictionary_encode()
        cuts = self._find(forms.dictionary.to_pylist())
        numbers, ends = values_of(forms.indices), [cut.ends for cut in cuts]
        firsts = np.fromiter(accumulate(map(len, ends), initial=0), np.int64, len(ends) + 1)
        positions, token_offsets = gather_ranges(firsts, numbers)
        starts = np.repeat(form_offsets[:-1], np.diff(token_offsets))
        last_bytes = left[starts + np.fromiter(chain(*ends), np.int64, firsts[-1])[positions] - 1]
        words = _strings(text, np.concatenate([[0], last_bytes + 1]))
        stands = np.array([cut.stands for cut in cuts], dtype=np.bool_)
        return CutChunks(words, token_offsets, stands[numbers])

    def _form(self, text: Bytes, offsets: Places) -> tuple[Bytes, Places, Places]:
        """Returns the forms of chunks.

        Returns:
            Their bytes, the place of each among the chunks' [B], and offsets [C + 1].
        """
        lengths = np.diff(offsets)
        chunk_of = np.repeat(np.arange(len(lengths)), lengths)
        kinds = _KINDS[text]
        before, after = np.roll(kinds, 1), np.roll(kinds, -1)
        before[offsets[:-1][lengths > 0]] = _MARK
        after[offsets[1:][lengths > 0] - 1] = _MARK
        is_plain = np.ones(len(lengths), dtype=np.bool_)
        is_plain[chunk_of[_places_of_others(text)]] = False
        dots = np.flatnonzero((text == ord(".")) & (before == _DIGIT) & (after == _DIGIT))
        is_plain[np.bincount(chunk_of[dots], minlength=len(lengths)) > 1] = False
        is_exchanged = self._is_exchanged(text, kinds, before, after) & is_plain[chunk_of]
        form = np.where(is_exchanged, _STAND_INS[text], text)
        goes = (form == ord("q")) | (form == ord("Q"))
        goes &= (is_plain & (lengths < _MOST_SHORTENED))[chunk_of]
        goes[-_LEFT:] = False
        for further in range(1, _LEFT + 1):
            goes[:-further] &= form[:-further] == form[further:]
        goes[:-_LEFT] &= chunk_of[:-_LEFT] == chunk_of[_LEFT:]
        left = np.flatnonzero(~goes)
        return form[left], left, np.searchsorted(left, offsets)

    def _is_exchanged(self, text: Bytes, kinds: Bytes, before: Bytes, after: Bytes) -> Mask:
        """Returns which bytes have stand-ins, [B]; letters behind a digit may be a unit."""
        starts = np.flatnonzero((kinds != before) & (kinds != _MARK))
        ends = np.flatnonzero((kinds != after) & (kinds != _MARK)) + 1
        # Every second string is a run, the others are what is between them.
        borders = np.concatenate([[0], np.stack([starts, ends], axis=1).ravel(), [len(text)]])
        is_named = values_of(pc.is_in(_strings(text, borders), self._named))
        chosen = ~is_named[1::2] & ((kinds[starts] == _DIGIT) | (before[starts] != _DIGIT))
        changes = np.zeros(len(text) + 1, dtype=np.int8)
        changes[starts[chosen]] = 1
        changes[ends[chosen]] -= 1
        return np.cumsum(changes[:-1], dtype=np.int8) > 0

    def _find(self, forms: Sequence[str]) -> list[_FormCut]:
        """Returns where each of these forms is cut."""
        if len(self._cuts) >= MAX_KNOWN or self._characters > MAX_CHARACTERS:
            self._cuts, self._characters = {"": _NO_CHUNK}, 0
        new = [form for form in forms if form not in self._cuts]
        self._characters += sum(map(len, new))
        for form in new:
            if form in self._known:
                self._cuts[form] = _FormCut(_ends_of(self._known[form].split(" ")), stands=True)
        if unknown := [form for form in new if form not in self._known]:
            self._learn(unknown)
        return [self._cuts[form] for form in forms]

    def _learn(self, forms: Sequence[str]) -> None:
        rules = self._rules()
        cut = rules.cut(forms)
        # Where a special case has changed a chunk, all its tokens are among the chunk's.
        suspects = [
            form
            for form, words in zip(forms, cut, strict=True)
            if not self._tell_tales.isdisjoint(words)
        ]
        in_parts = dict(zip(suspects, rules.cut_in_parts(suspects), strict=True))
        for form, words in zip(forms, cut, strict=True):
            # Other white space may join what is beside it.
            stands = words == in_parts.get(form, words) and form.split() == [form]
            self._cuts[form] = _FormCut(_ends_of(words), stands)


def _ends_of(words: Iterable[str]) -> list[int]:
    return list(accumulate(len(word.encode()) for word in words))


def _places_of_others(text: Bytes) -> Places:
    """Returns where bytes are neither ASCII's visible characters nor of marks of prose."""
    is_other = text - ord("!") > ord("~") - ord("!")  # what is below it becomes large
    first, second, _ = _MARKS_OF_PROSE[0]
    begins = np.flatnonzero(text == first)  # of three bytes, as UTF-8 has it
    thirds = _MARKS_OF_PROSE[:, 2]
    begins = begins[(text[begins + 1] == second) & np.isin(text[begins + 2], thirds)]
    is_other[np.add.outer(begins, range(3))] = False
    return np.flatnonzero(is_other)


def _flat(strings: pa.Array) -> tuple[Bytes, Places]:
    """Returns the bytes of large strings, and the offsets of each."""
    if not len(strings):
        return np.zeros(0, dtype=np.uint8), np.zeros(1, dtype=np.int64)
    _, offsets, text = strings.buffers()
    places = np.frombuffer(offsets, np.int64)[strings.offset : strings.offset + len(strings) + 1]
    return np.frombuffer(text or b"", np.uint8)[places[0] : places[-1]], places - places[0]


def _strings(text: Bytes, offsets: Places) -> pa.Array:
    """Returns the large strings that stand one after another in a text."""
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text)]
    return pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers)
