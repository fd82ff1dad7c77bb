"""Each rule of the boundaries on lines made for it; ``|`` stands where a sentence ends."""

from __future__ import annotations

import pytest

from pipeline.text import boundaries
from pipeline.text.boundaries import sentence_ranges
from pipeline.text.tokenization import EnglishTokenizer

TOKENIZER = EnglishTokenizer()


def split(text: str) -> str:
    """Returns the sentences with ``|`` between them, without white space."""
    (found,) = TOKENIZER.tokenize([text])
    ranges = sentence_ranges(found.words, found.spaces)
    return "|".join("".join(found.words[start:end]) for start, end in ranges)


def assert_split(line: str) -> None:
    text = line.replace(" | ", " ").replace("|", "")
    assert split(text) == line.replace(" ", "")


@pytest.mark.parametrize(
    "line",
    [
        "1. Matter is what things are made of. | It has weight.",
        "4.1.2. Limits of the method",
        "IV. The fourth part",
        "b. the second choice",
        "A. The first choice is this. | B. The other is that.",
        "Wash it. | 2. Dry it. | 3. Fold it.",
        "(2. Dry it and wait.)",
        "We need: 1. a lamp, 2) a rope.",
        "Figure 2. A lamp and a rope.",
        "Step 3. Fold the sheet. | Step 4. Wait.",
        "He was the last of 12. | The others left.",
        "The train left at 19:45. | Nobody was there.",
    ],
)
def test_a_marker_stays_with_its_item(line: str) -> None:
    assert_split(line)


@pytest.mark.parametrize(
    "line",
    [
        "He was born there. [7] | Later he moved.",
        "He was born there. [7] [8] [9] | Later he moved.",
        'She said "yes." [12] | Nobody heard.',
        "It is large. [citation needed] | It is also old.",
        "It is large. [note 3] | It is also old.",
        "They stayed. [...] | We left.",
        "They stayed for days [3]. | We left.",
        "They have rights. 4 | Even so they left.",
        "See the note [1]. | [2] is better.",
        "They sang. | [Laughter.] | We left.",
        "They left. | 40 men stayed.",
    ],
)
def test_the_mark_of_a_footnote_stays_with_what_precedes(line: str) -> None:
    assert_split(line)


@pytest.mark.parametrize(
    "line",
    [
        "Ann (b. March 1950) and Bob (c. 1910 to 1980) came.",
        "Ann (r. 1347–1354) ruled (see p. 4).",
        "Call exec_module(). | Its job is done.",
        "Our Assoc. Dean and Attn. Bob came on Tues. May 3.",
        "Thanks. | P.S. It rains.",
    ],
)
def test_more_words_are_shortened(line: str) -> None:
    assert_split(line)


@pytest.mark.parametrize(
    "line",
    [
        "“Who is it?” Ann asked. | Nobody knew.",
        '"Stop!" I cried. | He did.',
        '"Is it so?" | Bob was not sure.',
        '"It is so." | King said nothing.',
    ],
)
def test_a_quoted_question_goes_on_with_its_speaker(line: str) -> None:
    assert_split(line)


@pytest.mark.parametrize(
    "line",
    [
        "where is it? | is it far?",
        "what did i do? | nobody knows! | i left",
        "Where is it? is it far?",
        "the macro println! is long.",
        "Alas! how far it is.",
        "i use Yahoo! mail and Yahoo! news.",
    ],
)
def test_without_capitals_a_question_ends(line: str) -> None:
    assert_split(line)


@pytest.mark.parametrize(
    "line",
    [
        "It was fun.. | We left.",
        "It was fun...... | We left.",
        "It was fun...|We left.",
        "We...We left. | os...path stays.",
        "They went . . . and came back.",
        "They went . . . The rest stayed.",
        "They went. . . . | The rest stayed.",
        "(Is it so?). | Then yes.",
        "(It is so. ) | Then yes.",
    ],
)
def test_runs_of_marks(line: str) -> None:
    assert_split(line)


@pytest.mark.parametrize(
    "line",
    [
        "I love it. :) | We came back.",
        "I love it! :-) :-D | we came back.",
        "I love it :) | We came back.",
        "I love it :) and came back.",
    ],
)
def test_an_emoticon_stays_with_what_precedes(line: str) -> None:
    assert_split(line)


@pytest.mark.parametrize(
    "line",
    [
        "Ann Lee | 08/16/2000 12:05 PM | Have you heard?",
        "Ann Lee | 16/08/2000 18:20 | what is new?",
        "Ann Lee on 08/16/2000 12:05:10 PM | Have you heard?",
        "We met on 08/16/2000 12:05 PM at the gate.",
        "The date 08/16/2000 is wrong.",
    ],
)
def test_the_date_of_a_mail_is_a_line(line: str) -> None:
    assert_split(line)


@pytest.mark.parametrize(
    "line",
    [
        "Call me soon. | Best regards, | Ann Lee",
        "Thanks, | Ann",
        "Take care, | Ann Lee",
        "Thanks, Ann.",
        "Truly, I did not.",
        "She sends her regards, Ann said.",
        "Thanks, I will be there at noon.",
        "Thanks, Amazon for the quick delivery.",
        "Many thanks, Mr. Smith was kind enough to help.",
        "Best, I think, is the last chapter.",
        "Cheers, I loved it.",
        "Thanks, Ann's here.",
        "Thanks, | Ann The talk is at noon.",
        "Sincerely, | Ann Lee 713 - 5553",
        "Regards, | Ann Lee sent you a file.",
        "Thanks, | Ann Lee Acme Power Source, Inc.",
    ],
)
def test_the_closing_of_a_mail_is_a_line(line: str) -> None:
    assert_split(line)


@pytest.mark.parametrize(
    "line",
    [
        "It is at http://a.example/b | Look there.",
        "http://a.example/b | http://a.example/c",
        "It is at http://a.example/b and there.",
        "According to www.a.example President Obama spoke.",
        "Visit http://a.example Microsoft paid for it.",
        "See http://a.example | The site has more.",
        "Website: http://a.example | Ann Lee",
        "Ann | ============ | See below.",
        "Ann | ------------ | See below.",
        "Mr. ---- came -- and left.",
        "Figure 1.5 | The map shows rivers.",
        "Figure 1.5 shows rivers.",
        "See Figure 1.5 The map shows rivers.",
    ],
)
def test_lines_end_sentences(line: str) -> None:
    assert_split(line)


@pytest.mark.parametrize(
    "line",
    [
        "You know that they — | That is not so.",
        "And then we -- | Well, we left.",
        "They said – yes – that I left.",
        "And then I — I left.",
        "She said that he — The man of the house — was gone.",
        "You know that they — | That Ann — That is not so.",
        "Taipei, Taiwan — The festival began.",
    ],
)
def test_a_dash_breaks_speech_off(line: str) -> None:
    assert_split(line)


def test_what_looks_at_words_is_remembered_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boundaries._RememberedRules, "most", 50)
    words = [word for number in range(200) for word in (f"w{number}", ".", "Then")]
    ranges = sentence_ranges(words, [True] * len(words))
    assert len(ranges) == 201
    assert len(boundaries._RULES) <= 50
