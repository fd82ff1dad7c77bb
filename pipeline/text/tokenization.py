"""From a paragraph to clean text and its tokens, by spaCy's rules; which sentences are kept.

The rules come with the package: no model is loaded and nothing is fetched.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import chain, pairwise
from threading import Lock
from typing import Annotated, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from treeviews.pipeline.base.bundled import BUNDLED_FORMS
from treeviews.pipeline.base.json_files import read_object
from treeviews.pipeline.base.refusal import Refusal
from treeviews.pipeline.base.settings import Count, Option, Range, Settings
from treeviews.pipeline.shards.arrow import flags, gather_ranges, strings, values_of
from treeviews.pipeline.text.chunks import (
    FORM_FIELDS,
    FORMS_REMEDY,
    ChunkCutter,
    Cut,
    KnownForms,
    Rules,
)

NUMBER_OR_ALL = Range("be 0 for all sentences, or a number of them", lambda value: value >= 0)
MOST_TOKENS = Range("be at most 32000, as heads are 16 bit", lambda value: value <= 32_000)


class SentenceConfig(Settings):
    """How many sentences are taken and which are refused."""

    called: ClassVar[str] = "sentence setting"

    limit: Annotated[int, NUMBER_OR_ALL, Option()] = 0
    """Number of sentences to keep; 0: all."""
    min_tokens: Annotated[Count, Option()] = 1
    """Quarantine shorter sentences."""
    max_tokens: Annotated[int, MOST_TOKENS, Option()] = 100
    """Quarantine longer sentences."""
    max_token_characters: Count = 200

    def _check_together(self) -> None:
        if self.min_tokens > self.max_tokens:
            raise ValueError(
                f"min_tokens {self.min_tokens} and max_tokens {self.max_tokens}: "
                "needs 1 <= min_tokens <= max_tokens"
            )


def refuse_sentence(tokens: Sequence[str], config: SentenceConfig) -> Refusal | None:
    """Returns why a sentence is not taken, or None if it is.

    Reasons: ``too_short``, ``too_long``, ``long_token``, ``no_letters``.
    """
    if len(tokens) < config.min_tokens:
        return Refusal("too_short", f"{len(tokens)} tokens, at least {config.min_tokens}")
    if len(tokens) > config.max_tokens:
        return Refusal("too_long", f"{len(tokens)} tokens, at most {config.max_tokens}")
    longest = max(len(token) for token in tokens)
    if longest > config.max_token_characters:
        return Refusal(
            "long_token", f"a token of {longest} characters, at most {config.max_token_characters}"
        )
    if not any(character.isalpha() for token in tokens for character in token):
        return Refusal("no_letters", "no letter in any token")
    return None


CLEANING_VERSION = 2
"""Raised whenever the same text would be cleaned otherwise; part of every digest."""

UNPRINTABLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff"
    "\ufff9-\ufffb\ufffd\U000e0000-\U000e007f\ud800-\udfff]"
)
"""What is not for print: control characters but for white space, marks and embeddings of direction,
line and paragraph separators, word joiners, byte order marks, interlinear annotation, tags, lone
surrogates, which no UTF-8 file can hold, and U+FFFD, which another program put where it could not
read a character. Joiners stay: emoji need them."""
WITHIN_WORDS = re.compile("[\u00ad\u200b]")
"""Soft hyphens and zero-width spaces: where a word may be broken, so a space would cut it."""
_KEPT = re.compile(rf"(?!{UNPRINTABLE.pattern}|{WITHIN_WORDS.pattern})\S")
"""A character that cleaning leaves as it is and that is no white space."""


def clean_text(text: str) -> tuple[str, int]:
    """Returns the text on one line with single spaces, and how many characters were repaired.

    White space of any kind becomes one space. So does a character that is not for print; a soft
    hyphen or zero-width space is dropped; both count as repairs.
    """
    if text.isprintable() and text == text.strip() and "  " not in text and "\ufffd" not in text:
        return text, 0  # most sentences, and quick to see: no white space is printable but spaces
    joined, dropped = WITHIN_WORDS.subn("", text)
    repaired, replaced = UNPRINTABLE.subn(" ", joined)
    return " ".join(repaired.split()), dropped + replaced


def kept_positions(text: str) -> list[int]:
    """Returns where those characters of the cleaned text that are no spaces stand in a text."""
    return [found.start() for found in _KEPT.finditer(text)]


def separates(gap: str) -> bool:
    """Says whether what stands between two tokens is a space, or its like, to whoever cleans it."""
    return bool(WITHIN_WORDS.sub("", gap))


TOKENIZATION_VERSION = 3
"""Raised whenever the rules below change; part of every digest."""

MAX_CHUNK_CHARACTERS = 300
"""Longest run without white space that is cut into tokens; a longer one is one token."""

_MOST_BYTES = 4 * MAX_CHUNK_CHARACTERS

# spaCy takes time quadratic in a run of marks: many minutes for 100,000 brackets.
_LONG_CHUNK = re.compile(rf"(\S{{{MAX_CHUNK_CHARACTERS + 1},}})")

# Differs from spaCy's English rules, for technical prose: names such as __init__ and io.BytesIO and
# operators such as == stay whole, while _emphasis_ loses its marks; a letter that ends a sentence
# ("a to b.") gives up its period; and what is a face by spaCy's list is mostly a bracket beside a
# number, a colon or an equals sign ("(see chapter 8)", "(one):", "x[:]") stays apart.
_OPERATOR = re.compile(r"(?:[=!<>+*/%&|^-]=|\*\*|<<|>>|->|//)$")
_LETTER_WITH_PERIOD = re.compile(r"[a-z]\.")
_NO_FACE = re.compile(r"8\)|\):|\([;=]|\[[:=]|[:=][\[\]]|\]=")
_PERIOD_BEFORE_CAPITAL = r"\.(?=["
_UNDERSCORE = "_"
_LONE_LEADING_UNDERSCORE = r"_(?!_|[^\W_]+_[^\W_])"
_LONE_TRAILING_UNDERSCORE = r"(?<!_)_"


@dataclass(frozen=True, slots=True)
class TokenizedText:
    """Tokens of one text."""

    words: list[str]
    spaces: list[bool]
    """Whether white space follows each word."""


@dataclass(frozen=True, slots=True, eq=False)
class FlatTokens:
    """Tokens of texts one after another: T of N texts, W strings."""

    words: pa.Array
    """[W]; many are equal, or of no text."""
    places: NDArray[np.int64]
    """[T]; of each token among ``words``."""
    spaces: NDArray[np.bool_]
    """[T]; whether white space follows."""
    offsets: NDArray[np.int64]
    """[N + 1]; text n has the tokens ``offsets[n]:offsets[n + 1]``."""


_ONE_AT_A_TIME = Lock()
"""All tokenizers of a process share one vocabulary, and one thread frees what another uses."""


@dataclass(frozen=True, slots=True)
class EnglishPatterns:
    """How a text is cleaned and cut, as patterns that Python's ``re`` reads."""

    dropped: str
    """Characters that clean text lacks."""
    blank: str
    """Characters of which a run becomes one space."""
    prefixes: tuple[str, ...]
    suffixes: tuple[str, ...]
    infixes: tuple[str, ...]
    operator: str
    """What stays whole, as does an address: the pattern ends where the text does."""
    address: str
    special_cases: dict[str, list[str]]
    """Text -> its tokens."""


@functools.cache
def english_patterns() -> EnglishPatterns:
    """Returns spaCy's English rules with ours."""
    from spacy.attrs import ORTH
    from spacy.lang.en import English

    defaults = English.Defaults
    cases = defaults.tokenizer_exceptions.items()
    return EnglishPatterns(
        dropped=WITHIN_WORDS.pattern,
        blank=rf"(?:[\s\x1c-\x1f]|{UNPRINTABLE.pattern})",
        prefixes=tuple(
            _LONE_LEADING_UNDERSCORE if p == _UNDERSCORE else p for p in defaults.prefixes
        ),
        suffixes=tuple(
            _LONE_TRAILING_UNDERSCORE if s == _UNDERSCORE else s for s in defaults.suffixes
        ),
        infixes=tuple(i for i in defaults.infixes if _PERIOD_BEFORE_CAPITAL not in i),
        operator=_OPERATOR.pattern,
        address=defaults.url_match.__self__.pattern,
        special_cases={
            text: [part[ORTH] for part in parts]
            for text, parts in cases
            if not (_LETTER_WITH_PERIOD.fullmatch(text) or _NO_FACE.fullmatch(text))
        },
    )


@functools.cache
def _english() -> tuple[Any, Any, dict[str, list[str]]]:
    """Returns spaCy's English tokenizer with our rules, it without its last step, and its cases.

    The last step looks for special cases among the parts of chunks. Both are built once a process,
    over a vocabulary of bare strings: a pipeline's finds out much of each word that nobody asks.
    """
    from spacy.lang.en import English
    from spacy.tokenizer import Tokenizer
    from spacy.util import compile_infix_regex, compile_prefix_regex, compile_suffix_regex
    from spacy.vocab import Vocab

    patterns = english_patterns()
    # Each rule asks for the beginning by itself, so a search would look at every place in vain.
    find_prefix = functools.lru_cache(compile_prefix_regex(patterns.prefixes).match)
    find_suffix = functools.lru_cache(compile_suffix_regex(patterns.suffixes).search)
    find_infixes = compile_infix_regex(patterns.infixes).finditer
    exceptions = English.Defaults.tokenizer_exceptions
    rules = {text: exceptions[text] for text in patterns.special_cases}
    vocab = Vocab()
    # A special case that no search divides while it is taken in is not looked for among parts.
    is_blind = False

    def tokenizer() -> Any:
        return Tokenizer(
            vocab,
            rules=rules,
            prefix_search=lambda text: None if is_blind else find_prefix(text),
            suffix_search=lambda text: None if is_blind else find_suffix(text),
            infix_finditer=lambda text: () if is_blind else find_infixes(text),
            token_match=_OPERATOR.match,
            url_match=English.Defaults.url_match,
        )

    whole = tokenizer()
    is_blind = True
    in_parts = tokenizer()
    is_blind = False
    return whole, in_parts, patterns.special_cases


@functools.cache
def english_rules() -> Rules:
    """Returns how spaCy cuts chunks; loads it, which takes seconds."""
    whole, in_parts, cases = _english()
    return Rules(_cut_by(whole), _cut_by(in_parts), cases)


class EnglishTokenizer:
    """spaCy's English tokenizer, which remembers how it cuts; for any number of threads.

    What spaCy makes of the forms of ordinary text is known from a file (`pipeline.text.chunks`), so
    that spaCy itself is loaded when another form is met.
    """

    def __init__(self, known: KnownForms | None = None) -> None:
        """Knows forms from the start.

        Args:
            known: what the rules make of them; None takes the file's, if it is of these rules.
        """
        self._cutter = ChunkCutter(english_rules, known or shipped_forms())

    def tokenize(self, texts: Sequence[str]) -> list[TokenizedText]:
        """Returns the tokens of each text.

        Args:
            texts: as `tokenize_flat` takes them.
        """
        flat = self.tokenize_flat(texts)
        words = np.array(flat.words.to_pylist(), dtype=np.object_)[flat.places].tolist()
        spaces, offsets = flat.spaces.tolist(), flat.offsets.tolist()
        return [TokenizedText(words[a:b], spaces[a:b]) for a, b in pairwise(offsets)]

    def tokenize_flat(self, texts: Sequence[str]) -> FlatTokens:
        """Returns the tokens of texts.

        Args:
            texts: with single spaces as their only white space.
        """
        pieces = pc.split_pattern(strings(texts), " ")
        chunks, starts = pieces.values.dictionary_encode(), values_of(pieces.offsets)
        numbers = values_of(chunks.indices)
        with _ONE_AT_A_TIME:
            cut = self._cutter.cut(_without_giants(chunks.dictionary))
            unsure = np.searchsorted(starts, np.flatnonzero(~cut.stands[numbers]), side="right") - 1
            rows = np.unique(unsure)
            whole = tokenized_by_spacy([texts[row] for row in rows]) if len(rows) else []
        places, chunk_offsets = gather_ranges(cut.offsets, numbers)
        offsets = chunk_offsets[starts]
        follows_space = np.zeros(len(places) + 1, dtype=np.bool_)
        follows_space[chunk_offsets] = True
        follows_space[offsets] = False
        flat = FlatTokens(cut.words, places, follows_space[1:], offsets)
        return _with_others(flat, rows, whole) if whole else flat


def tokenized_by_spacy(texts: Sequence[str]) -> list[TokenizedText]:
    """Returns the tokens of texts by spaCy itself, which sees how their chunks meet."""
    tokenizer = _english()[0]
    found = []
    with tokenizer.vocab.memory_zone():
        for text in texts:
            tokens = TokenizedText([], [])
            parts = _LONG_CHUNK.split(text)
            for number, part in enumerate(parts):
                if number % 2:
                    tokens.words.append(part)
                    tokens.spaces.append(bool(parts[number + 1]))
                else:  # after a long chunk, a part begins with the space that ended it
                    doc = tokenizer(part[1:] if number else part)
                    tokens.words.extend(token.text for token in doc)
                    tokens.spaces.extend(bool(token.whitespace_) for token in doc)
            found.append(tokens)
    return found


def _cut_by(tokenizer: Any) -> Cut:
    """Returns what cuts chunks by a tokenizer; what spaCy caches for them is freed on return."""

    def cut(chunks: Sequence[str]) -> list[list[str]]:
        with tokenizer.vocab.memory_zone():
            return [
                [token.text for token in tokenizer(chunk)]
                if len(chunk) <= MAX_CHUNK_CHARACTERS
                else [chunk]
                for chunk in chunks
            ]

    return cut


@functools.cache
def shipped_forms() -> KnownForms | None:
    """Returns the forms that ship, if they were cut by these rules and this spaCy."""
    if not BUNDLED_FORMS.exists():
        return None
    values = read_object(BUNDLED_FORMS, FORM_FIELDS, remedy=FORMS_REMEDY)
    is_ours = values["rules"] == rules_version()
    return KnownForms(frozenset(values["named"]), values["forms"]) if is_ours else None


def rules_version() -> dict[str, Any]:
    """Returns what determines how a form is cut."""
    return {"spacy": spacy_version(), "tokenization_version": TOKENIZATION_VERSION}


def _without_giants(chunks: pa.Array) -> pa.Array:
    """Returns chunks, those too long to be cut exchanged for nothing, which stands in no text."""
    is_giant = values_of(pc.binary_length(chunks)) > _MOST_BYTES
    return pc.if_else(flags(is_giant), "", chunks) if is_giant.any() else chunks


def _with_others(
    flat: FlatTokens, rows: NDArray[np.int64], others: Sequence[TokenizedText]
) -> FlatTokens:
    """Returns the tokens of texts, those of some rows exchanged."""
    words = list(chain.from_iterable(tokens.words for tokens in others))
    spaces = list(chain.from_iterable(tokens.spaces for tokens in others))
    ends = len(flat.places) + np.cumsum([len(tokens.words) for tokens in others], dtype=np.int64)
    order = np.arange(len(flat.offsets) - 1)
    order[rows] = len(order) + np.arange(len(rows))
    positions, offsets = gather_ranges(np.concatenate([flat.offsets, ends]), order)
    places = np.concatenate([flat.places, len(flat.words) + np.arange(len(words))])
    return FlatTokens(
        words=pa.concat_arrays([flat.words, strings(words)]),
        places=places[positions],
        spaces=np.concatenate([flat.spaces, np.array(spaces, dtype=np.bool_)])[positions],
        offsets=offsets,
    )


@functools.cache
def spacy_version() -> str:
    """Returns the installed version of spaCy, on which the tokens depend; looked up once."""
    return version("spacy")
