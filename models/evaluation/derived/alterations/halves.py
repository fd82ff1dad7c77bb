"""One half of the sentences altered, the other left as it is, decided by text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from models.evaluation.derived.alterations.source import SourceSentence, SourceText
from models.evaluation.derived.held_out.config import ProbingConfig
from models.evaluation.derived.held_out.stable_order import stable_number, text_key

KEPT_INTACT = "kept_intact"
OUTSIDE_LIMITS = "outside_length_limits"
DUPLICATE_TEXT = "duplicate_text"
FORM_OCCURS = "altered_form_occurs"


@dataclass(slots=True)
class Halves:
    """The two classes of one kind of alteration; no sentence is in both."""

    altered: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Tokens of each altered sentence, by the corpus row it was made from."""
    intact: list[int] = field(default_factory=list)
    """Corpus rows of sentences that could be altered and are not."""
    not_selected: Counter[str] = field(default_factory=Counter)
    """Held-out sentences that were not altered, by reason."""


def halves_by_text(
    text: SourceText,
    config: ProbingConfig,
    alter: Callable[[SourceSentence], tuple[str, ...] | None],
    *,
    salt: str,
    unalterable: str,
) -> Halves:
    """Alters half of all texts that can be altered one by one; a hash of the text decides.

    A text that occurs more than once is altered once; one whose altered form occurs in the corpus
    is not.

    Args:
        alter: gives the altered tokens, or None where a sentence cannot be altered.
        salt: makes the choice of one kind independent of that of another.
        unalterable: the reason under which sentences that cannot be altered are counted.
    """
    texts = {text_key(sentence.tokens) for sentence in text.sentences}
    written: set[str] = set()
    halves = Halves()
    for sentence in text.sentences:
        row, own = sentence.row.dataset_row, text_key(sentence.tokens)
        if not config.takes_length(len(sentence.tokens)):
            halves.not_selected[OUTSIDE_LIMITS] += 1
        elif (altered := alter(sentence)) is None:
            halves.not_selected[unalterable] += 1
        elif not is_chosen(sentence.tokens, config.seed, salt):
            halves.intact.append(row)
            halves.not_selected[KEPT_INTACT] += 1
        elif own in written:
            halves.not_selected[DUPLICATE_TEXT] += 1
        elif text_key(altered) in texts:
            halves.not_selected[FORM_OCCURS] += 1
        else:
            written.add(own)
            halves.altered[row] = altered
    return halves


def is_chosen(tokens: tuple[str, ...] | list[str], seed: int, salt: str) -> bool:
    """Returns whether a sentence is to appear altered: half of all texts, by hash.

    The text decides and not the row, so two copies of a text are both altered or both intact.
    """
    return stable_number(seed, salt, text_key(tokens)) % 2 == 0
