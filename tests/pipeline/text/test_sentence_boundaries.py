from __future__ import annotations

import pytest

from pipeline.text.boundaries import sentence_ranges
from pipeline.text.tokenization import MAX_CHUNK_CHARACTERS, EnglishTokenizer
from tests.support.growth import times_the_cost


@pytest.fixture(scope="module")
def tokenizer():
    return EnglishTokenizer()


def split(tokenizer, text: str) -> list[str]:
    (tokenized,) = tokenizer.tokenize([text])
    ranges = sentence_ranges(tokenized.words, tokenized.spaces)
    assert [i for start, end in ranges for i in range(start, end)] == list(
        range(len(tokenized.words))
    )
    return [" ".join(tokenized.words[start:end]) for start, end in ranges]


@pytest.mark.parametrize(
    ("text", "num_sentences"),
    [
        ("It rained. We stayed in! Did you?", 3),
        ("No final mark", 1),
        ("He said: “Go home.” She went.", 2),
        ("(It rained.) We stayed.", 2),
        ("Use a list, e.g. the one above, i.e. this one.", 1),
        ("Apples, pears, etc. are fruit.", 1),
        ("Apples, pears, etc. They are fruit.", 2),
        ("See Fig. 3 and vol. 2 for it.", 1),
        ("The answer was no. He left.", 2),
        ("Cats vs. Dogs is a film.", 1),
        ("The marks '.' and \"!\" and ('?') end sentences.", 1),
        ("Is it (really?) so?", 1),
        ("Wait... what is that?", 1),
        ("He waited... Nobody came.", 2),
        ("Dr. Smith and J. Doe left the U.S. early.", 1),
        ("Open os.path and io.BytesIO now. mode is the mode.", 2),
        ("It grew by 3.5 percent. 'Good,' they said.", 2),
        ("Everything!!! Really?! Yes.", 3),
        ("Great 👍. Next one 🙂!", 2),
    ],
)
def test_number_of_sentences(tokenizer, text, num_sentences):
    assert len(split(tokenizer, text)) == num_sentences, split(tokenizer, text)


@pytest.mark.parametrize(
    "text",
    [
        "Acme Inc. | He left early.",
        "They met in the U.S. | She left.",
        "It ends at 5 p.m. | The show began.",
        "He moved to Washington, D.C. | The mayor left.",
        "He has a Ph.D. | She did not.",
        "He is Bob Jr. | He left.",
        "It snowed in Dec. | But in Jan. it rained.",
        "Plan A. | Plan B. done",
        "They read Vitamin C. | Bob slept.",
        "He left (for the U.S.). | Bob stayed.",
        "Did they reach the U.S.? | Bob did.",
        "It was by Smith et al. | Later work agrees.",
    ],
)
def test_an_abbreviation_may_end_a_sentence(tokenizer, text):
    parts = text.split(" | ")
    assert [s.replace(" ", "") for s in split(tokenizer, text.replace("| ", ""))] == [
        part.replace(" ", "") for part in parts
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Capt. Kirk met Lt. Uhura.",
        "We met Mr. He and Dr. So.",
        "He studied at the Univ. of Texas.",
        "The U.S. Senate met.",
        "J. K. Rowling and J.R.R. Tolkien wrote.",
        "Acme Corp. Chairman Bob spoke.",
        "At 5 p.m. Eastern time it began.",
        "Mail (a.k.a. Unix mail, e.g. The Inbox, ie. all of it) came.",
        "They live in St. Louis, not on Mt. Rainier.",
    ],
)
def test_an_abbreviation_in_a_name_does_not_end_one(tokenizer, text):
    assert len(split(tokenizer, text)) == 1, split(tokenizer, text)


def test_a_text_without_capitals_is_split(tokenizer):
    assert len(split(tokenizer, "he sat. mary left in the sun. and bob came.")) == 3


def test_closing_marks_stay_and_opening_marks_go_with_the_next(tokenizer):
    assert split(tokenizer, "He said 'yes.' 'No,' she said.") == [
        "He said ' yes . '",
        "' No , ' she said .",
    ]


def test_no_words_give_no_sentence():
    assert sentence_ranges([], []) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Call __init__() first.", ["Call", "__init__", "(", ")", "first", "."]),
        ("an io.BytesIO object", ["an", "io.BytesIO", "object"]),
        ("x == y", ["x", "==", "y"]),
        ("from a to b.", ["from", "a", "to", "b", "."]),
        ("don't (stop)", ["do", "n't", "(", "stop", ")"]),
        ("the _odd_name_ here", ["the", "_odd_name", "_", "here"]),
        ("_Two words_ here", ["_", "Two", "words", "_", "here"]),
        ("_emphasis_ here", ["_", "emphasis", "_", "here"]),
        ("(see chapter 8).", ["(", "see", "chapter", "8", ")", "."]),
        ("(in part 8): yes", ["(", "in", "part", "8", ")", ":", "yes"]),
        ("(one): two", ["(", "one", ")", ":", "two"]),
        ("x[:] (= 3) (; born", ["x", "[", ":", "]", "(", "=", "3", ")", "(", ";", "born"]),
        ("well :) or :-( or 8-)", ["well", ":)", "or", ":-(", "or", "8-)"]),
    ],
)
def test_tokens(tokenizer, text, words):
    assert tokenizer.tokenize([text])[0].words == words


@pytest.mark.parametrize("mark", ["(", "!", "'", '"', "-", "(!"])
def test_a_long_run_of_marks_is_one_token_and_costs_no_more_than_its_length(tokenizer, mark):
    def check(length: int) -> None:
        run = mark * length
        (found,) = tokenizer.tokenize([f"Before, {run} after."])
        assert found.words == ["Before", ",", run, "after", "."]
        assert found.spaces == [False, True, True, False, False]

    assert times_the_cost(check, 10_000, 100_000) < 30  # its square: 100


def test_chunks_up_to_the_limit_are_cut_as_ever(tokenizer):
    run = "!" * MAX_CHUNK_CHARACTERS
    assert tokenizer.tokenize([run])[0].words == ["!"] * MAX_CHUNK_CHARACTERS
    found = tokenizer.tokenize([f"{run}! {run}!"])[0]
    assert (found.words, found.spaces) == ([f"{run}!"] * 2, [True, False])


@pytest.mark.parametrize("pattern", ["ha !", "[ … ]", "— The", "Thanks , Ann", "( ."])
def test_the_longest_paragraph_costs_no_more_than_its_length(pattern):
    def split_paragraph(length: int) -> None:
        words = (". " + length * f"{pattern} ").split()
        sentence_ranges(words, [True] * len(words))

    assert times_the_cost(split_paragraph, 1_600, 16_000) < 30  # its square: 100
