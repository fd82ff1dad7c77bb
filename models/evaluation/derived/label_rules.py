"""The linguistic property of one sentence that each probing task asks for.

Each rule is a pure function of a parsed sentence and gives None where it does not apply. The tags
are Penn Treebank's, the relations Universal Dependencies'.
"""

from __future__ import annotations

from dataclasses import dataclass

from models.evaluation.derived.held_out.held_out_rows import ParsedSentence, below_top_clause

TENSES = {"VBD": "past", "VBP": "present", "VBZ": "present"}
NUMBERS = {"NN": "singular", "NNP": "singular", "NNS": "plural", "NNPS": "plural"}
_AUXILIARY = ("aux", "cop")


@dataclass(frozen=True, slots=True)
class Marked:
    """A label and the word that bears it."""

    label: str
    word: str
    """Lower-cased."""


def tree_depth(sentence: ParsedSentence) -> int:
    """Returns the number of constituents on the longest path from the root to a word.

    Every label of a collapsed unary chain counts, so collapsing does not change the depth.
    """
    deepest = 0
    open_spans: list[tuple[int, int]] = []
    for start, end, label in zip(sentence.starts, sentence.ends, sentence.labels, strict=True):
        while open_spans and open_spans[-1][0] <= start:
            open_spans.pop()
        depth = (open_spans[-1][1] if open_spans else 0) + len(label.split("+"))
        deepest = max(deepest, depth)
        open_spans.append((end, depth))
    return deepest


def top_constituents(sentence: ParsedSentence) -> str | None:
    """Returns the labels of the constituents right below the top S, as ``NP VP .``.

    A word that hangs from S directly gives its part-of-speech tag. None where the top is no S.
    """
    below = below_top_clause(sentence)
    return None if below is None else " ".join(constituent.label for constituent in below)


def tense(sentence: ParsedSentence) -> Marked | None:
    """Returns the tense of the main clause and its finite verb.

    The finite verb is the first auxiliary or copula of the root ("*was* called", "*is* a list"),
    and the root itself where it has none. None where that word is a modal, an infinitive or an
    imperative, whose tags bear no tense.
    """
    root = sentence.heads.index(0)
    auxiliaries = [
        position
        for position, (head, relation) in enumerate(
            zip(sentence.heads, sentence.deprels, strict=True)
        )
        if head == root + 1 and relation.split(":")[0] in _AUXILIARY
    ]
    finite = auxiliaries[0] if auxiliaries else root
    label = TENSES.get(sentence.tags[finite])
    return Marked(label, sentence.tokens[finite].lower()) if label else None


def subject_number(sentence: ParsedSentence) -> Marked | None:
    """Returns the number of the root's subject noun; None for pronouns and clauses."""
    return _number_of(sentence, "nsubj")


def object_number(sentence: ParsedSentence) -> Marked | None:
    """Returns the number of the root's direct object noun; None for pronouns and clauses."""
    return _number_of(sentence, "obj")


def _number_of(sentence: ParsedSentence, relation: str) -> Marked | None:
    root = sentence.heads.index(0)
    arguments = [
        position
        for position, (head, deprel) in enumerate(
            zip(sentence.heads, sentence.deprels, strict=True)
        )
        if head == root + 1 and deprel.split(":")[0] == relation
    ]
    if len(arguments) != 1:
        return None
    label = NUMBERS.get(sentence.tags[arguments[0]])
    return Marked(label, sentence.tokens[arguments[0]].lower()) if label else None
