"""Which language a paragraph is in, as py3langid says (Lui and Baldwin 2012); its one file."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from pipeline.base.bundled import how_to_install
from pipeline.base.refusal import Refusal

LEAST_CHARACTERS = 50
"""Of shorter texts it is too often wrong, so nothing is asked of them."""


@cache
def _identifier() -> Any:
    """Returns the classifier, loaded once a process.

    Raises:
        ModuleNotFoundError: py3langid is not installed; names the remedy.
    """
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "cleaning by language needs py3langid, which is not installed: "
            f"{how_to_install('cleaning')}, or set language=''"
        ) from error
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def check_language(language: str) -> None:
    """Refuses a language by which no text can be cleaned; an empty one is none.

    To be asked before a corpus is signed, as its language is looked at after its duplicates.

    Raises:
        ModuleNotFoundError: py3langid is not installed.
        ValueError: it does not know the language; names those that it knows.
    """
    if language and language not in (known := sorted(map(str, _identifier().labels))):
        raise ValueError(
            f"cleaning setting language is {language!r}, which py3langid does not know; known: "
            f"{', '.join(known)}"
        )


def language_check(language: str, min_probability: float) -> Callable[[str], Refusal | None]:
    """Returns what says of a text why it is refused for its language, or None.

    Args:
        language: the one that is kept.
        min_probability: of another one, from which on the text is refused.

    Raises:
        ModuleNotFoundError, ValueError: see `check_language`.
    """
    check_language(language)
    identifier = _identifier()

    def check(text: str) -> Refusal | None:
        if len(text) < LEAST_CHARACTERS:
            return None
        found, probability = identifier.classify(text)
        if found == language or probability < min_probability:
            return None
        return Refusal(
            "other_language", f"{found} with probability {probability:.2f} (language={language})"
        )

    return check
