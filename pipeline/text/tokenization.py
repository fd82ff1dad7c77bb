"""From a paragraph to tokens: it is cleaned and cut by spaCy's rules; which sentences are kept.

The rules come with the package: no model is loaded and nothing is fetched. No other file imports
spaCy.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Annotated, Any, ClassVar

from pipeline.base.config_fields import Config, Count, Range
from pipeline.base.refusal import Refusal

CLEANING_VERSION = 2
"""Raised whenever the same text would be cleaned otherwise; part of every digest."""

# What is not for print: control characters but for white space, marks and embeddings of direction,
# line and paragraph separators, word joiners, byte order marks, interlinear annotation, tags, lone
# surrogates, which no UTF-8 file can hold, and U+FFFD, which another program put where it could not
# read a character. Joiners stay: emoji need them.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff"
    "\ufff9-\ufffb\ufffd\U000e0000-\U000e007f\ud800-\udfff]"
)
_WITHIN_WORDS = re.compile("[\u00ad\u200b]")
"""Soft hyphens and zero-width spaces: where a word may be broken, so a space would cut it."""

NUMBER_OR_ALL = Range("be 0 for all sentences, or a number of them", lambda value: value >= 0)
MOST_TOKENS = Range("be at most 32000, as heads are 16 bit", lambda value: value <= 32_000)


@dataclass(frozen=True, slots=True)
class SentenceConfig(Config):
    """How many sentences are taken and which are refused."""

    called: ClassVar[str] = "sentence setting"

    limit: Annotated[int, NUMBER_OR_ALL] = 0
    """Stop after so many kept sentences; 0 takes all."""
    min_tokens: Count = 1
    max_tokens: Annotated[int, MOST_TOKENS] = 100
    max_token_characters: Count = 200

    def _check_together(self) -> None:
        if self.min_tokens > self.max_tokens:
            raise ValueError(
                f"min_tokens {self.min_tokens} and max_tokens {self.max_tokens}: "
                "needs 1 <= min_tokens <= max_tokens"
            )


def clean_text(text: str) -> tuple[str, int]:
    """Returns the text on one line with single spaces, and how many characters were repaired.

    White space of any kind becomes one space. So does a character that is not for print; a soft
    hyphen or zero-width space is dropped; both count as repairs.
    """
    joined, dropped = _WITHIN_WORDS.subn("", text)
    repaired, replaced = _UNPRINTABLE.subn(" ", joined)
    return " ".join(repaired.split()), dropped + replaced


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


TOKENIZATION_VERSION = 2
"""Raised whenever the rules below change; part of every digest."""

MAX_CHUNK_CHARACTERS = 300
"""Longest run without white space that is cut into tokens; a longer one is one token."""

# spaCy takes time quadratic in a run of marks: many minutes for 100,000 brackets.
_LONG_CHUNK = re.compile(rf"(\S{{{MAX_CHUNK_CHARACTERS + 1},}})")

# Differs from spaCy's English rules, for technical prose: names such as __init__ and io.BytesIO and
# operators such as == stay whole, while _emphasis_ loses its marks; a letter that ends a sentence
# ("a to b.") gives up its period.
_OPERATOR = re.compile(r"(?:[=!<>+*/%&|^-]=|\*\*|<<|>>|->|//)$")
_LETTER_WITH_PERIOD = re.compile(r"[a-z]\.")
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


@functools.cache
def _english() -> Any:
    """Returns spaCy's blank English pipeline with our rules, built once a process."""
    import spacy
    from spacy.util import compile_infix_regex, compile_prefix_regex, compile_suffix_regex

    nlp = spacy.blank("en")
    defaults, tokenizer = nlp.Defaults, nlp.tokenizer
    prefixes = [_LONE_LEADING_UNDERSCORE if p == _UNDERSCORE else p for p in defaults.prefixes]
    suffixes = [_LONE_TRAILING_UNDERSCORE if s == _UNDERSCORE else s for s in defaults.suffixes]
    infixes = [i for i in defaults.infixes if _PERIOD_BEFORE_CAPITAL not in i]
    tokenizer.prefix_search = compile_prefix_regex(prefixes).search
    tokenizer.suffix_search = compile_suffix_regex(suffixes).search
    tokenizer.infix_finditer = compile_infix_regex(infixes).finditer
    tokenizer.rules = {
        text: rule
        for text, rule in tokenizer.rules.items()
        if not _LETTER_WITH_PERIOD.fullmatch(text)
    }
    tokenizer.token_match = _OPERATOR.match
    return nlp


class EnglishTokenizer:
    """spaCy's blank English tokenizer with bounded memory."""

    def __init__(self) -> None:
        self._nlp = _english()

    def tokenize(self, texts: Sequence[str]) -> list[TokenizedText]:
        """Returns the tokens of each text; what spaCy caches for them is freed on return.

        Args:
            texts: with single spaces as their only white space.
        """
        with self._nlp.memory_zone():
            return [self._tokenize(text) for text in texts]

    def _tokenize(self, text: str) -> TokenizedText:
        tokens = TokenizedText([], [])
        parts = _LONG_CHUNK.split(text)
        for number, part in enumerate(parts):
            if number % 2:
                tokens.words.append(part)
                tokens.spaces.append(bool(parts[number + 1]))
            else:  # after a long chunk, a part begins with the space that ended it
                doc = self._nlp.make_doc(part[1:] if number else part)
                tokens.words.extend(token.text for token in doc)
                tokens.spaces.extend(bool(token.whitespace_) for token in doc)
        return tokens


def spacy_version() -> str:
    """Returns the installed version of spaCy, on which the tokens depend."""
    return version("spacy")
