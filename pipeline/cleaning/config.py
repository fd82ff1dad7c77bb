"""Which steps of cleaning are on, and their thresholds."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pipeline.base.bundled import how_to_install
from pipeline.base.settings import Natural, Settings, Share, at_least

CLEANER_VERSION = 1
"""Raised whenever the same text would be cleaned otherwise; part of every digest that cleans."""
PROFILES = ("none", "clean")
_LANGUAGE_CODE_LETTERS = 2
_MIN_DUPLICATE_WORDS = 5


class CleaningConfig(Settings):
    """The steps of cleaning. All are off by default: no paper whose corpus is rebuilt had them."""

    called: ClassVar[str] = "cleaning setting"

    normalisation: Literal["none", "nfc", "nfkc"] = "none"
    """Unicode's form; nfkc also writes ligatures, full-width letters and superscripts plainly."""
    mojibake: bool = False
    """Whether UTF-8 that was once read as Windows-1252 is read anew: ``donâ€™t``."""
    boilerplate: bool = False
    """Whether navigation, notices of rights and policies, and calls to click are refused."""
    repeated_in: Natural = 0
    """Lines without an end mark that stand in so many documents are refused in all; 0: off."""
    min_unended_words: Natural = 0
    """Words that a paragraph without an end mark must have; 0: off."""
    max_words: Natural = 0
    """Words that a paragraph may have; 0: off."""
    min_mean_word: Natural = 0
    """Characters of a mean word, of paragraphs of some length; 0: off."""
    max_mean_word: Natural = 0
    """The same, at most; 0: off."""
    min_lettered_words: Share = 0.0
    """Share of a paragraph's words that must have a letter; 0: off."""
    language: str = ""
    """ISO 639-1 code, such as ``en``: other languages are refused; empty: off."""
    min_language_probability: Share = 0.9
    """A paragraph is refused if another language is at least so probable."""
    duplicates: Literal["none", "exact"] = "none"
    """Whether paragraphs are refused whose words stand earlier in the corpus, case and punctuation
    apart."""
    min_duplicate_words: Annotated[int, at_least(_MIN_DUPLICATE_WORDS)] = 10
    """A shorter paragraph is never a duplicate: people say “Yes” in many books."""

    def _check_together(self) -> None:
        code = self.language
        if code and not (len(code) == _LANGUAGE_CODE_LETTERS and code.isascii() and code.islower()):
            raise ValueError(f"{self.called} language must be a code such as en, got {code!r}")
        if 0 < self.max_mean_word < self.min_mean_word:
            raise ValueError(
                f"{self.called} max_mean_word is {self.max_mean_word}, less than min_mean_word "
                f"({self.min_mean_word}): no paragraph would be left"
            )

    @property
    def is_on(self) -> bool:
        """Whether any step is on."""
        return any(getattr(self, name) != getattr(_OFF, name) for name in _SWITCHES)

    @property
    def needs_corpus(self) -> bool:
        """Whether a step looks at all paragraphs of the corpus, so that these are signed first."""
        return self.duplicates != "none" or self.repeated_in > 0


_SWITCHES = (
    *("normalisation", "mojibake", "boilerplate", "repeated_in", "min_unended_words", "max_words"),
    *("min_mean_word", "max_mean_word", "min_lettered_words", "language", "duplicates"),
)
_OFF = CleaningConfig()
_CLEAN = CleaningConfig(
    normalisation="nfc",
    mojibake=True,
    boilerplate=True,
    repeated_in=10,  # ours: no threshold is published for paragraphs
    min_unended_words=5,  # C4: a line has 5 words (Raffel et al. 2020, section 2.2)
    max_words=10_000,  # ours; Gopher has 100,000 for a document
    min_mean_word=3,  # this and the next: Gopher (Rae et al. 2021, appendix A.1.1)
    max_mean_word=10,
    min_lettered_words=0.6,  # Gopher: 0.8 of a document; a good sentence with two dates has less
    language="en",
    duplicates="exact",
)


def profile(name: str, changes: Mapping[str, Any] | None = None) -> CleaningConfig:
    """Returns the settings of a profile, some of them changed.

    Args:
        name: ``none``: no step; ``clean``: all of them, with the thresholds of C4 and Gopher.

    Raises:
        ValueError: no such profile, or a change of an unknown field or out of range.
    """
    if name not in PROFILES:
        raise ValueError(f"cleaning must be one of {', '.join(PROFILES)}, got {name!r}")
    return (_CLEAN if name == "clean" else _OFF).changed(**(changes or {}))


def describe_cleaning(config: CleaningConfig) -> dict[str, Any]:
    """Returns what determines how a text is cleaned, for a digest; empty where no step is on.

    Raises:
        ModuleNotFoundError: a step needs a library that is not installed; names the remedy.
    """
    if not config.is_on:
        return {}
    described = {"config": config.to_dict(), "cleaner_version": CLEANER_VERSION}
    return described | ({"py3langid": _version_of_py3langid()} if config.language else {})


def _version_of_py3langid() -> str:
    try:
        return importlib.metadata.version("py3langid")
    except importlib.metadata.PackageNotFoundError as error:
        raise ModuleNotFoundError(
            "this cleaning needs py3langid, which is not installed: "
            f"{how_to_install('cleaning')}, or set language=''"
        ) from error
