"""Tokens stand in the given text where they say, whatever cleaning makes of it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treeviews.pipeline.text.aligned import split_texts, whole_texts
from treeviews.pipeline.text.tokenization import EnglishTokenizer, clean_text

ODD = " \n\t\r\u00ad\u200b\u00a0\u2028\u3000\ufffd\ufeff\x00\x1c\x85\ud800.!?\"'()[]-_`bB1é🙂\u0301"
TOKENIZER = EnglishTokenizer()


@settings(max_examples=100, deadline=None)
@given(st.text(st.one_of(st.characters(), st.sampled_from(ODD)), max_size=60))
def test_each_word_is_the_cleaned_text_of_its_place(text: str) -> None:
    (sentence,) = whole_texts([text], TOKENIZER)

    assert [clean_text(text[a:b])[0] for a, b in sentence.offsets] == sentence.words
    assert [text[a:b] for a, b in sentence.offsets] == sentence.tokens
    places = [place for pair in sentence.offsets for place in pair]
    assert places == sorted(places)


@settings(max_examples=100, deadline=None)
@given(st.text(st.one_of(st.characters(), st.sampled_from(ODD)), max_size=60))
def test_sentences_of_a_text_hold_all_its_words_in_their_places(text: str) -> None:
    sentences = split_texts([text], TOKENIZER)

    for sentence in sentences:
        assert text[sentence.start :].startswith(sentence.text)
        assert [text[a:b] for a, b in sentence.offsets] == sentence.tokens
    characters = "".join(clean_text(text)[0].split())
    assert "".join(word for sentence in sentences for word in sentence.words) == characters


def test_sentences_are_numbered_within_their_text() -> None:
    texts = ["It rains. It pours.\n\nA title\n \nThe end.", "", " \n", "Dr. Who left. He did."]

    found = split_texts(texts, TOKENIZER, first=5)

    assert [(one.source, one.number, one.text) for one in found] == [
        (5, 0, "It rains."),
        (5, 1, "It pours."),
        (5, 2, "A title"),
        (5, 3, "The end."),
        (8, 0, "Dr. Who left."),
        (8, 1, "He did."),
    ]
    assert [one.start for one in found] == [0, 10, 21, 31, 0, 14]


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\u00ad\u200b", "\ufeff\ud800"])
def test_a_text_without_words_is_one_empty_sentence_or_none(text: str) -> None:
    (whole,) = whole_texts([text], TOKENIZER)

    assert (whole.words, whole.text) == ([], text)
    assert split_texts([text], TOKENIZER) == []
