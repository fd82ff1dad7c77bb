"""How long a paragraph is, and what its words look like.

Gopher (Rae et al. 2021, appendix A.1.1) keeps documents whose mean word has 3 to 10 characters and
of whose words 80 % have a letter. Differs from Gopher: asked of paragraphs, and only of those with
`JUDGED_WORDS` or more, because a mean of fewer says little; the profile's share is lower.
C4 (Raffel et al. 2020, section 2.2) keeps lines of 5 words that end in an end mark. Differs from
C4: either will do, because people in books answer with a word, and items of lists are sentences
without a full stop.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.base.refusal import Refusal
from pipeline.cleaning.config import CleaningConfig

JUDGED_WORDS = 20
_END = re.compile(r"""(?:[.!?…—]|--)(?:["'”’»)\]]|\[\d+\])*\s*$""")
"""An end mark, or the dash of speech that breaks off, behind which quotes may close and a
footnote's number stand."""
_END_CHARACTERS = 32


def ends_a_sentence(text: str) -> bool:
    """Returns whether a paragraph ends in an end mark."""
    return _END.search(text, max(len(text) - _END_CHARACTERS, 0)) is not None


def refused_shape(text: str, words: Sequence[str], config: CleaningConfig) -> Refusal | None:
    """Returns why a paragraph is no running text, as far as its shape tells.

    Args:
        words: of the text, between white space.
    """
    num_words = len(words)
    if num_words < config.min_unended_words and not ends_a_sentence(text):
        return Refusal(
            "unended_line",
            f"no end mark and {num_words} words, of which such a line must have "
            f"{config.min_unended_words} (min_unended_words)",
        )
    if 0 < config.max_words < num_words:
        return Refusal(
            "long_paragraph", f"{num_words:,} words, at most {config.max_words:,} (max_words)"
        )
    if num_words < JUDGED_WORDS:
        return None
    mean = sum(map(len, words)) / num_words
    if mean < config.min_mean_word or 0 < config.max_mean_word < mean:
        return Refusal(
            "word_lengths",
            f"a mean word of {mean:.1f} characters, which must lie in "
            f"[{config.min_mean_word}, {config.max_mean_word}] (min_mean_word, max_mean_word)",
        )
    lettered = sum(any(map(str.isalpha, word)) for word in words) / num_words
    if lettered < config.min_lettered_words:
        return Refusal(
            "few_lettered_words",
            f"{lettered:.0%} of the words have a letter, at least "
            f"{config.min_lettered_words:.0%} must (min_lettered_words)",
        )
    return None
