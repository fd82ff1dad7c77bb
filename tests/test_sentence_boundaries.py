from __future__ import annotations

import pytest

from pipeline.sentence_boundaries import sentence_ranges
from pipeline.tokenization import EnglishTokenizer


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
    ],
)
def test_tokens(tokenizer, text, words):
    assert tokenizer.tokenize([text])[0].words == words
