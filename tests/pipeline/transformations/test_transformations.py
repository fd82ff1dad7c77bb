"""Each transformation on trees drawn by hand: word/tag/head/relation."""

from __future__ import annotations

import pytest

from pipeline.transformations.negations import lemma, third_person
from pipeline.transformations.registry import TRANSFORMATIONS
from pipeline.transformations.surface import article_before
from pipeline.trees.flat import validate_heads
from tests.support.drawn_trees import drawn, redrawn


def results(name: str, text: str) -> list[str]:
    found = list(TRANSFORMATIONS[name].results(drawn(text)))
    assert all(validate_heads(made.heads) is None for made in found)
    return [" ".join(made.tokens) for made in found]


DOG_SEES_CAT = (
    "An/DT/3/det old/JJ/3/amod dog/NN/4/nsubj sees/VBZ/0/root a/DT/6/det cat/NN/4/obj ././4/punct"
)
MEN_AND_DOGS = "Men/NNS/4/nsubj and/CC/3/cc dogs/NNS/1/conj sleep/VBP/0/root ././4/punct"
TWO_CLAUSES = (
    "A/DT/2/det man/NN/3/nsubj sings/VBZ/0/root and/CC/7/cc a/DT/6/det woman/NN/7/nsubj "
    "dances/VBZ/3/conj ././3/punct"
)

CHANGES = {
    "without_adjective": [
        (DOG_SEES_CAT, ["A dog sees a cat ."]),
        ("The/DT/3/det same/JJ/3/amod dog/NN/4/nsubj left/VBD/0/root", []),
        ("All/DT/3/det old/JJ/3/amod dogs/NNS/4/nsubj bark/VBP/0/root", []),
        ("No/DT/3/det old/JJ/3/amod dogs/NNS/4/nsubj bark/VBP/0/root", []),
    ],
    "without_adverb": [
        ("Dogs/NNS/3/nsubj often/RB/3/advmod bark/VBP/0/root ././3/punct", ["Dogs bark ."]),
        ("Dogs/NNS/3/nsubj never/RB/3/advmod bark/VBP/0/root ././3/punct", []),
    ],
    "without_phrase": [
        (
            "In/IN/2/case Rome/NNP/5/obl ,/,/2/punct he/PRP/5/nsubj sings/VBZ/0/root ././5/punct",
            ["He sings ."],
        ),
        (
            "He/PRP/2/nsubj opens/VBZ/0/root it/PRP/2/obj with/IN/6/case a/DT/6/det key/NN/2/obl "
            "././2/punct",
            ["He opens it ."],
        ),
        ("He/PRP/2/nsubj lives/VBZ/0/root in/IN/4/case Rome/NNP/2/obl ././2/punct", []),
        ("A/DT/2/det number/NN/5/nsubj of/IN/4/case men/NNS/2/nmod sing/VBP/0/root", []),
    ],
    "without_apposition": [
        (
            "Ann/NNP/7/nsubj ,/,/5/punct an/DT/5/det old/JJ/5/amod friend/NN/1/appos ,/,/1/punct "
            "sings/VBZ/0/root ././7/punct",
            ["Ann sings ."],
        ),
    ],
    "without_parenthesis": [
        (
            "Ann/NNP/5/nsubj (/-LRB-/3/punct friend/NN/1/appos )/-RRB-/3/punct sings/VBZ/0/root "
            "././5/punct",
            ["Ann sings ."],
        ),
        ("Call/VB/0/root len/NN/1/obj (/-LRB-/2/punct )/-RRB-/2/punct ././1/punct", []),
    ],
    "without_relative_clause": [
        (
            "A/DT/2/det man/NN/6/nsubj who/WP/4/nsubj waits/VBZ/2/acl:relcl ,/,/2/punct "
            "sings/VBZ/0/root ././6/punct",
            ["A man sings ."],
        ),
        (
            "A/DT/2/det man/NN/5/nsubj who/WP/4/nsubj waits/VBZ/2/acl:relcl sings/VBZ/0/root "
            "././5/punct",
            ["A man sings ."],
        ),
        (
            "Men/NNS/6/nsubj ,/,/4/punct who/WP/4/nsubj wait/VBP/1/acl:relcl ,/,/4/punct "
            "sing/VBP/0/root ././6/punct",
            ["Men sing ."],
        ),
    ],
    "without_adverbial_clause": [
        (
            "When/WRB/3/advmod it/PRP/3/nsubj rains/VBZ/6/advcl ,/,/3/punct he/PRP/6/nsubj "
            "sings/VBZ/0/root ././6/punct",
            ["He sings ."],
        ),
        (
            "He/PRP/2/nsubj sings/VBZ/0/root if/IN/5/mark it/PRP/5/nsubj rains/VBZ/2/advcl "
            "././2/punct",
            [],
        ),
    ],
    "first_clause": [(TWO_CLAUSES, ["A man sings ."]), (DOG_SEES_CAT, [])],
    "last_clause": [(TWO_CLAUSES, ["A woman dances ."]), (DOG_SEES_CAT, [])],
    "conjuncts_reordered": [
        (MEN_AND_DOGS, ["Dogs and men sleep ."]),
        ("Old/JJ/2/amod men/NNS/5/nsubj and/CC/4/cc dogs/NNS/2/conj sleep/VBP/0/root", []),
        ("I/PRP/2/nsubj run/VBP/0/root and/CC/4/cc he/PRP/2/conj", []),
        (
            "Read/VB/0/root it/PRP/1/obj in/IN/4/case June/NNP/1/obl or/CC/7/cc in/IN/7/case "
            "May/NNP/4/conj",
            ["Read it in May or in June"],
        ),
    ],
    "subject_and_object_exchanged": [
        (DOG_SEES_CAT, ["A cat sees an old dog ."]),
        ("He/PRP/2/nsubj sees/VBZ/0/root dogs/NNS/2/obj", []),
        ("Ann/NNP/2/nsubj sees/VBZ/0/root dogs/NNS/2/obj", []),
        ("Ann/NNP/2/nsubj saw/VBD/0/root dogs/NNS/2/obj", ["Dogs saw Ann"]),
        (
            "Dogs/NNS/3/nsubj:pass are/VBP/3/aux:pass seen/VBN/0/root by/IN/5/case "
            "men/NNS/3/obl:agent",
            ["Men are seen by dogs"],
        ),
    ],
    "modifier_moved": [
        ("An/DT/3/det eager/JJ/3/amod dog/NN/4/nsubj sees/VBZ/0/root cats/NNS/4/obj", []),
        ("A/DT/3/det big/JJ/3/amod dog/NN/4/nsubj sees/VBZ/0/root cats/NNS/4/obj",
         ["A dog sees big cats"]),
        ("A/DT/3/det big/JJ/3/amod dog/NN/4/nsubj sees/VBZ/0/root grey/JJ/6/amod cats/NNS/4/obj",
         ["A grey dog sees big cats"]),
    ],
    "conjuncts_crossed": [
        (TWO_CLAUSES, ["A woman sings and a man dances ."]),
        (MEN_AND_DOGS, []),
    ],
    "negation_removed": [
        ("He/PRP/4/nsubj does/VBZ/4/aux not/RB/4/advmod carry/VB/0/root it/PRP/4/obj",
         ["He carries it"]),
        ("He/PRP/4/nsubj ca/MD/4/aux n't/RB/4/advmod carry/VB/0/root it/PRP/4/obj",
         ["He can carry it"]),
        ("Do/VB/3/aux not/RB/3/advmod go/VB/0/root", ["Go"]),
        ("There/EX/2/expl is/VBZ/0/root no/DT/5/det old/JJ/5/amod man/NN/2/nsubj",
         ["There is an old man"]),
        ("He/PRP/4/nsubj did/VBD/4/aux not/RB/4/advmod go/VB/0/root", []),
        ("No/DT/2/det one/NN/4/nsubj will/MD/4/aux come/VB/0/root", []),
    ],
    "negation_added": [
        ("He/PRP/2/nsubj carries/VBZ/0/root it/PRP/2/obj", ["He does not carry it"]),
        ("They/PRP/3/nsubj often/RB/3/advmod sing/VBP/0/root", ["They do not often sing"]),
        ("He/PRP/3/nsubj can/MD/3/aux sing/VB/0/root", ["He can not sing"]),
        ("He/PRP/3/nsubj is/VBZ/3/cop old/JJ/0/root", ["He is not old"]),
        ("Sing/VB/0/root it/PRP/1/obj", ["Do not sing it"]),
        ("There/EX/2/expl is/VBZ/0/root a/DT/4/det man/NN/2/nsubj",
         ["There is no man", "There is not a man"]),
        ("He/PRP/3/nsubj never/RB/3/advmod sings/VBZ/0/root", []),
        ("He/PRP/2/nsubj sang/VBD/0/root", []),
    ],
}  # fmt: skip

CASES = [(name, *case) for name, cases in CHANGES.items() for case in cases]


def test_every_transformation_is_tried() -> None:
    assert CHANGES.keys() == TRANSFORMATIONS.keys()


@pytest.mark.parametrize(("name", "text", "expected"), CASES)
def test_what_a_transformation_makes(name: str, text: str, expected: list[str]) -> None:
    assert results(name, text) == expected


def test_exchanged_phrases_exchange_their_relations() -> None:
    made = TRANSFORMATIONS["subject_and_object_exchanged"].first(drawn(DOG_SEES_CAT))
    assert made is not None
    assert redrawn(made) == (
        "A/DT/2/det cat/NN/3/nsubj sees/VBZ/0/root an/DT/6/det old/JJ/6/amod dog/NN/3/obj "
        "././3/punct"
    )


def test_a_last_conjunct_that_comes_first_heads_the_others() -> None:
    made = TRANSFORMATIONS["conjuncts_reordered"].first(drawn(MEN_AND_DOGS))
    assert made is not None
    assert (
        redrawn(made) == "Dogs/NNS/4/nsubj and/CC/3/cc men/NNS/1/conj sleep/VBP/0/root ././4/punct"
    )


def test_names_keep_their_capital_and_code_begins_no_sentence() -> None:
    name = "conjuncts_reordered"
    assert results(
        name, MEN_AND_DOGS.replace("Men/NNS", "Ann/NNP").replace("dogs/NNS", "Bo/NNP")
    ) == ["Bo and Ann sleep ."]
    assert results(name, MEN_AND_DOGS.replace("dogs", "os.path")) == []


@pytest.mark.parametrize(
    ("word", "article"),
    [("old", "an"), ("user", "a"), ("hour", "an"), ("URL", "a"), ("HTML", "an"), ("dog", "a")],
)
def test_the_article_before_a_word(word: str, article: str) -> None:
    assert article_before(word) == article


@pytest.mark.parametrize(
    "pair",
    ["carry carries", "go goes", "see sees", "pass passes", "use uses", "have has", "die dies"],
)
def test_forms_of_verbs(pair: str) -> None:
    plain, third = pair.split()
    assert third_person(plain) == third
    assert lemma(third) == plain
