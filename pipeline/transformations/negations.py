"""Hard negatives: a negation removed or added.

Verbs take "do" and "does" or lose them, as far as their tags tell the form; a verb in the past
tense keeps its negation or stays without one, since its other form is not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pipeline.transformations.edits import NewWord, inserted, removed, with_words
from pipeline.transformations.sentence_tree import SentenceTree
from pipeline.transformations.surface import article_before

NOT = frozenset({"not", "n't", "n’t"})
WHOLE_FORMS = {"ca": "can", "wo": "will", "sha": "shall"}
"""What is left of "can't", "won't" and "shan't" without their "n't"."""
FINITE_AUXILIARIES = frozenset(
    ("is", "are", "was", "were", "am", "has", "have", "had", "can", "could", "will", "would",
     "should", "may", "might", "must", "shall", "do", "does", "did")
)  # fmt: skip
FORMS_OF_BE = frozenset({"is", "are", "was", "were", "am"})
NEGATIVE = frozenset(
    ("no", "never", "nothing", "nobody", "none", "nor", "neither", "without", "hardly", "cannot",
     "nowhere", "n't", "not", "n’t", "unless", "?", "only", "just", "also", "either", "already")
)  # fmt: skip
"""Beside one of these another negation says something else than the opposite."""
POLAR = frozenset(
    (
        "any",
        "anyone",
        "anybody",
        "anything",
        "anywhere",
        "anymore",
        "either",
        "ever",
        "yet",
        "nor",
        "neither",
        "?",
    )
)
"""Beside one of these a negation cannot just go. To a question its opposite is the same one."""
ASIDES = frozenset({"see", "note", "let"})
"""Instructions that nobody gives the other way round."""
MASS_NOUNS = frozenset(
    ("information", "evidence", "support", "access", "time", "help", "money", "water", "work",
     "doubt", "sense", "data", "food", "music", "space", "room", "need", "output", "input")
)  # fmt: skip
THIRD_PERSONS = {"be": "is", "have": "has"}
LEMMAS = {"has": "have", "does": "do", "goes": "go", "is": "be", "caches": "cache", "aches": "ache"}


def negation_removed(tree: SentenceTree) -> Iterator[SentenceTree]:
    """Yields "A man sings" for "A man does not sing", "There is a man" for "There is no man"."""
    if not POLAR.isdisjoint(tree.words):
        return
    for token, word in enumerate(tree.words):
        if word in NOT and tree.is_leaf(token) and tree.heads[token]:
            yield from _without_not(tree, token)
        elif word == "no" and tree.deprels[token] == "det" and tree.is_leaf(token):
            yield from _without_no(tree, token)


def negation_added(tree: SentenceTree) -> Iterator[SentenceTree]:
    """Yields "A man does not sing" for "A man sings", "There is no man" for "There is a man"."""
    if not NEGATIVE.isdisjoint(tree.words):
        return
    root = tree.root
    if tree.dependents(root, "expl"):
        yield from _with_no(tree)
    auxiliaries = tree.dependents(root, "aux", "cop")
    if auxiliaries:
        if auxiliaries[0] < root and tree.words[auxiliaries[0]] in FINITE_AUXILIARIES:
            yield inserted(tree, auxiliaries[0] + 1, [_not(root)])
    elif tree.words[root] in FORMS_OF_BE:
        yield inserted(tree, root + 1, [_not(root)])
    elif tree.dependents(root, "nsubj", "csubj"):
        if tree.tags[root] == "VBZ":
            verb = with_words(tree, {root: lemma(tree.words[root])})
            yield _with_do(_tagged(verb, root, "VB"), root, "does", "VBZ")
        elif tree.tags[root] == "VBP":
            yield _with_do(_tagged(tree, root, "VB"), root, "do", "VBP")
    elif tree.tags[root] == "VB" and not (
        tree.words[root] in ASIDES or tree.dependents(root, "mark")
    ):
        yield _with_do(tree, root, "do", "VB")


def lemma(third_person: str) -> str:
    """Returns the plain form of a verb in the third person singular, by its spelling."""
    if third_person in LEMMAS:
        return LEMMAS[third_person]
    if third_person.endswith("ies"):
        return third_person[:-1] if len(third_person) <= 4 else f"{third_person[:-3]}y"
    if third_person.endswith(("sses", "shes", "ches", "xes", "zzes", "oes")):
        return third_person[:-2]
    return third_person.removesuffix("s")


def third_person(lemma: str) -> str:
    """Returns the third person singular of a verb's plain form, by its spelling."""
    if lemma in THIRD_PERSONS:
        return THIRD_PERSONS[lemma]
    if lemma.endswith("y") and lemma[-2:-1] not in ("", *"aeiou"):
        return f"{lemma[:-1]}ies"
    return f"{lemma}es" if lemma.endswith(("s", "sh", "ch", "x", "z", "o")) else f"{lemma}s"


def _not(head: int) -> NewWord:
    return NewWord("not", "RB", head, "advmod")


def _tagged(tree: SentenceTree, token: int, tag: str) -> SentenceTree:
    return replace(tree, tags=(*tree.tags[:token], tag, *tree.tags[token + 1 :]))


def _with_do(tree: SentenceTree, verb: int, form: str, tag: str) -> SentenceTree:
    """Returns the tree with a negated "do" before a verb and the adverbs right before it."""
    place = verb
    while place and tree.heads[place - 1] - 1 == verb and tree.relations[place - 1] == "advmod":
        place -= 1
    return inserted(tree, place, [NewWord(form, tag, verb, "aux"), _not(verb)])


def _without_not(tree: SentenceTree, token: int) -> Iterator[SentenceTree]:
    head = tree.heads[token] - 1
    before = token - 1
    word = tree.words[before] if before >= 0 else ""
    if word not in FINITE_AUXILIARIES and word not in WHOLE_FORMS:
        return
    if token + 1 < len(tree) and tree.words[token + 1] in ("only", "just", "yet", "even", "at"):
        return
    if word in WHOLE_FORMS:
        yield removed(with_words(tree, {before: WHOLE_FORMS[word]}), {token})
    elif word not in ("do", "does", "did") or tree.relations[before] != "aux":
        yield removed(tree, {token})
    elif word == "do" and tree.is_leaf(before):
        tag = "VB" if tree.tags[before] == "VB" else "VBP"
        yield removed(_tagged(tree, head, tag), {before, token})
    elif word == "does" and tree.is_leaf(before) and tree.tags[head] == "VB":
        form = third_person(tree.tokens[head])
        yield removed(_tagged(with_words(tree, {head: form}), head, "VBZ"), {before, token})


def _without_no(tree: SentenceTree, token: int) -> Iterator[SentenceTree]:
    noun = tree.heads[token] - 1
    if not token < noun or tree.words[token + 1] in ("one", "other", "longer", "more"):
        return
    if tree.tags[noun] == "NN":
        is_mass = tree.words[noun] in MASS_NOUNS
        article = "some" if is_mass else article_before(tree.tokens[token + 1])
        yield with_words(tree, {token: article})
    elif tree.tags[noun] == "NNS":
        yield removed(tree, {token})


def _with_no(tree: SentenceTree) -> Iterator[SentenceTree]:
    """Yields "There is no man" for "There is a man" and "There are no men" for "… some men"."""
    for subject in tree.dependents(tree.root, "nsubj"):
        for article in tree.dependents(subject, "det"):
            if tree.words[article] in ("a", "an", "some", "any"):
                yield with_words(tree, {article: "no"})
