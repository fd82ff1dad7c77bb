"""The steps of cleaning: which are on, and what each does to a paragraph before it is cut.

In: a paragraph. Out: the same, or as a step has changed it, or a refusal in its place. The steps in
their order: characters, boilerplate, shape, duplicates, language. Characters come first, as all
others read them; language last, of what is left, as it costs most. Each reads what the one before
it left, so cleaning what is clean changes nothing. Duplicates are found over the whole corpus
first: see `find_duplicates`.

Thresholds are those of C4 (Raffel et al. 2020, section 2.2) and Gopher (Rae et al. 2021, appendix
A.1.1). Differs from both, since paragraphs are judged here, and no lines or documents: a notice
must be short and itself the notice, as in text about the web nearly every line that names
JavaScript or cookies is text; the rest of its page stays; braces are no sign of code, since
formulas have them; menus and calls to click have rules of their own, which C4 loses by asking each
line for an end mark; the words of a line or an end mark will do, because people in books answer
with a word; and means are asked of `JUDGED_WORDS` or more, because of fewer they say little.
"""

from __future__ import annotations

import importlib.metadata
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Annotated, Any, ClassVar, Literal

from treeviews.pipeline.base.bundled import how_to_install
from treeviews.pipeline.base.refusal import Refusal, excerpt_of
from treeviews.pipeline.base.settings import Natural, Settings, Share, at_least
from treeviews.pipeline.text.documents import Paragraph

CLEANER_VERSION = 1
"""Raised whenever the same text would be cleaned otherwise; part of every digest that cleans."""


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
    min_duplicate_words: Annotated[int, at_least(5)] = 10
    """A shorter paragraph is never a duplicate: people say “Yes” in many books."""

    def _check_together(self) -> None:
        if 0 < self.max_mean_word < self.min_mean_word:
            raise ValueError(
                f"{self.called} max_mean_word is {self.max_mean_word}, less than min_mean_word "
                f"({self.min_mean_word}): no paragraph would be left"
            )

    @property
    def is_on(self) -> bool:
        """Whether any step is on."""
        thresholds = {name: getattr(_OFF, name) for name in _THRESHOLDS}
        return self.model_copy(update=thresholds) != _OFF

    @property
    def needs_corpus(self) -> bool:
        """Whether a step looks at all paragraphs of the corpus, so that these are signed first."""
        return self.duplicates != "none" or self.repeated_in > 0


_THRESHOLDS = ("min_language_probability", "min_duplicate_words")
"""Fields that turn no step on."""
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
PROFILES = {"none": _OFF, "clean": _CLEAN}


def profile(name: str, changes: Mapping[str, Any] | None = None) -> CleaningConfig:
    """Returns the settings of a profile, some of them changed.

    Args:
        name: ``none``: no step; ``clean``: all of them, with the thresholds of C4 and Gopher.

    Raises:
        ValueError: a change of an unknown field or out of range.
    """
    return PROFILES[name].changed(**(changes or {}))


def describe_cleaning(config: CleaningConfig) -> dict[str, Any]:
    """Returns what determines how a text is cleaned, for a digest; empty where no step is on.

    Raises:
        ModuleNotFoundError: a step needs a library that is not installed; names the remedy.
    """
    if not config.is_on:
        return {}
    described = {"config": config.to_dict(), "cleaner_version": CLEANER_VERSION}
    return described | ({"py3langid": _version_of_py3langid()} if config.language else {})


_FORMS: dict[str, Literal["NFC", "NFKC"]] = {"nfc": "NFC", "nfkc": "NFKC"}
_WINDOWS = {
    character: bytes([number])
    for number in range(0x80, 0x100)
    for character in [bytes([number]).decode("cp1252", "replace")]
    if character != "\ufffd"
}
"""What Windows-1252 shows of the upper 128 bytes; where it has nothing, programs show C1."""
_WINDOWS |= {chr(number): bytes([number]) for number in (0x81, 0x8D, 0x8F, 0x90, 0x9D)}
_FOLLOWING = re.escape("".join(c for c, byte in _WINDOWS.items() if byte < b"\xc0"))
_MISREAD = re.compile(f"[ÂÃ][{_FOLLOWING}]|â[{_FOLLOWING}]{{2}}|ð[{_FOLLOWING}]{{3}}")
"""Letters of Western languages, punctuation and emoji in UTF-8 as Windows-1252 shows them. Of the
other first bytes a capital and a mark are also found in good text, such as ``É»``."""


def _reread(found: re.Match[str]) -> str:
    shown = found[0]
    try:
        return b"".join(_WINDOWS[character] for character in shown).decode("utf-8")
    except UnicodeDecodeError:
        return shown


NOTICE_WORDS = 30
"""Words of a paragraph that may be a notice; a longer one speaks of something."""
CALL_WORDS = 12
_ITEM_WORDS = 4
_LEAST_ITEMS = 3

_SEPARATOR = re.compile(r"\s+[|·•»›>]\s+")
_ITEM = re.compile(r"[^\W\d_][\w'’&/ -]*")
_NOTICES = {
    "policy_notice": re.compile(
        r"\b(?:we|(?:this|our) (?:web)?(?:site|page)) uses? cookies\b"
        r"|\bby (?:using|continuing|browsing|clicking|accessing|signing)\b.*\byou (?:agree|accept"
        r"|consent)\b"
        r"|^\W*(?:(?:terms of (?:use|service)|(?:privacy|cookie) policy)\W*(?:and\W)?)+$",
        re.IGNORECASE,
    ),
    "script_notice": re.compile(
        r"\b(?:please|must|to) (?:enable|turn on|activate) javascript\b"
        r"|^\W*(?:this|our) (?:web)?(?:site|page)\b.*\brequires javascript\b"
        r"|\bjavascript (?:is|must be|seems to be|appears to be) (?:disabled|enabled|turned o)",
        re.IGNORECASE,
    ),
    "placeholder": re.compile(r"\blorem ipsum\b", re.IGNORECASE),
    "rights_notice": re.compile(
        r"\ball rights reserved\b|©\s*(?:\w+\s+)?(?:1[89]|20)\d\d\b|\bcopyright\s*(?:©|\(c\))"
        r"|^\W*copyright\W*(?:1[89]|20)\d\d\b",
        re.IGNORECASE,
    ),
}
_CALL = re.compile(
    r"^\W*(?:(?:read|learn|see|show|view|load) (?:more|all|less)\W*$"
    r"|read the full (?:article|story)\b|skip to (?:the )?(?:main |page )?content\b"
    r"|(?:back|return|go) to (?:the )?(?:top|home ?page)\W*$"
    r"|(?:sign|log) (?:in|up|out)\W*$|subscribe (?:now|today|to our)\b"
    r"|share (?:this|on|via) (?:\w+ )?(?:\w+)\W*$|follow us\b|print this (?:page|article)\W*$"
    r"|e-?mail this (?:page|article)\W*$|leave a (?:comment|reply)\W*$"
    r"|(?:previous|next) (?:page|post|article|chapter)\W*$|add to (?:cart|basket)\W*$"
    r"|download (?:now|(?:the |as )?pdf)\W*$)|(?<![\"“‘'])\bclick here\b",
    re.IGNORECASE,
)


def boilerplate_in(text: str, num_words: int) -> str:
    """Returns the reason for which a paragraph is boilerplate; empty where it is none.

    Args:
        num_words: of the text, between white space.
    """
    if num_words > NOTICE_WORDS:
        return ""
    for reason, pattern in _NOTICES.items():
        if pattern.search(text):
            return reason
    if num_words <= CALL_WORDS and _CALL.search(text):
        return "call_to_click"
    items = _SEPARATOR.split(text.strip(" |>·•"))
    if len(items) >= _LEAST_ITEMS and all(map(_is_menu_item, items)):
        return "navigation"
    return ""


def _is_menu_item(text: str) -> bool:
    return len(text.split()) <= _ITEM_WORDS and _ITEM.fullmatch(text) is not None


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


LEAST_CHARACTERS = 50
"""Of shorter texts py3langid is too often wrong, so nothing is asked of them."""


def _version_of_py3langid() -> str:
    try:
        return importlib.metadata.version("py3langid")
    except importlib.metadata.PackageNotFoundError as error:
        raise ModuleNotFoundError(
            "this cleaning needs py3langid, which is not installed: "
            f"{how_to_install('cleaning')}, or set language=''"
        ) from error


@cache
def _identifier() -> Any:
    """Returns the classifier of languages (Lui and Baldwin 2012), loaded once a process.

    Raises:
        ModuleNotFoundError: py3langid is not installed; names the remedy.
    """
    _version_of_py3langid()
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

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


def _other_language(text: str, config: CleaningConfig) -> Refusal | None:
    """Returns why a text is refused for its language, if it is."""
    language = config.language
    if not language or len(text) < LEAST_CHARACTERS:
        return None
    found, probability = _identifier().classify(text)
    if found == language or probability < config.min_language_probability:
        return None
    detail = f"{found} with probability {probability:.2f} (language={language})"
    return Refusal("other_language", detail)


Content = Paragraph | Refusal
Changes = list[str]
"""What was done to a paragraph."""


def clean_content(
    content: Content, config: CleaningConfig, duplicate: Refusal | None = None
) -> tuple[Content, Changes]:
    """Returns a paragraph after all steps, or why it is refused, and what was changed in it.

    Args:
        duplicate: why it is refused for what else is in the corpus; see `duplicates_of`.

    Raises:
        ModuleNotFoundError: a step needs a library that is not installed; names the remedy.
    """
    cleaned, changes = clean_alone(content, config)
    if isinstance(cleaned, Refusal):
        return cleaned, changes
    refusal = duplicate or _other_language(cleaned.text, config)
    return refused(refusal, cleaned) if refusal else cleaned, changes


def clean_alone(content: Content, config: CleaningConfig) -> tuple[Content, Changes]:
    """Returns a paragraph as `clean_content`, after the steps that come before duplicates."""
    changes: Changes = []
    if isinstance(content, Refusal):
        return content, changes
    text = content.text
    if config.mojibake and (reread := _MISREAD.sub(_reread, text)) != text:
        changes.append("mojibake")
        text = reread
    form = _FORMS.get(config.normalisation)
    if form is not None and not unicodedata.is_normalized(form, text):
        changes.append("normalised")
        text = unicodedata.normalize(form, text)
    words = text.split()
    refusal = refused_shape(text, words, config) if words else None
    if config.boilerplate and (reason := boilerplate_in(text, len(words))):
        refusal = Refusal(reason, "a line of a page and no text (boilerplate)")
    if refusal:
        return refused(refusal, content), changes
    return content if text is content.text else Paragraph(text, content.position), changes


def refused(refusal: Refusal, paragraph: Paragraph) -> Refusal:
    """Returns a refusal that stands in a paragraph's place."""
    excerpt = excerpt_of(paragraph.text)
    return replace(refusal, position=paragraph.position, excerpt=excerpt)
