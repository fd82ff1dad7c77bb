"""Tokens of running English text, by spaCy's rules; the one place that imports spaCy.

The rules come with the package: no model is loaded and nothing is fetched.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

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
