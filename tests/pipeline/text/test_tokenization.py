"""Tokens: those that the rules say, and those that spaCy gives of the whole text."""

from __future__ import annotations

import functools
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import islice, pairwise
from typing import Any

import pyarrow as pa
import pytest

from tests.support.repository import REPOSITORY
from treeviews.pipeline.text.chunks import ChunkCutter, KnownForms
from treeviews.pipeline.text.documents import Paragraph
from treeviews.pipeline.text.text_sources import PythonDocs
from treeviews.pipeline.text.tokenization import (
    EnglishTokenizer,
    clean_text,
    english_rules,
    shipped_forms,
    tokenized_by_spacy,
)

TOKENIZER = EnglishTokenizer()


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
def test_tokens(text: str, words: list[str]) -> None:
    assert TOKENIZER.tokenize([text])[0].words == words


def by_spacy(text: str) -> tuple[list[str], list[bool]]:
    """Returns words and spaces by spaCy itself, with nothing remembered."""
    (tokens,) = tokenized_by_spacy([text])
    return tokens.words, tokens.spaces


def assert_as_spacy(texts: list[str], tokenizer: EnglishTokenizer) -> None:
    for text, tokens in zip(texts, tokenizer.tokenize(texts), strict=True):
        assert (tokens.words, tokens.spaces) == by_spacy(text), text


def unprepared() -> EnglishTokenizer:
    """Returns a tokenizer that has to ask spaCy about every form."""
    return EnglishTokenizer(KnownForms(english_rules().named(), ()))


@pytest.fixture(scope="module", params=["shipped forms", "no forms"])
def tokenizer(request: pytest.FixtureRequest) -> EnglishTokenizer:
    return EnglishTokenizer() if request.param == "shipped forms" else unprepared()


NASTY = r"""
a. b. I'm can't won't y'all'd've cannot Cannot, (don't) "it's" it’s its'. John's JOHN'S
boys' 'tis o'clock rock'n'roll __init__ _emphasis_ __x _x_y_ == != -> ** //  a==b a->b
io.BytesIO os.path.join() e.g. i.e. etc., U.S. U.S.A., p.m. 5p.m. 5pm 10km 3.5kg, $3.50 US$5
1,234.5 3.5 -3.5 1-2 1+2 10.0.0.1 192.168.0.1:80 99% 5°C. 1990s '90s 1st. 3/4 km/h
http://x.org/a?b=c www.example.com, me@example.org: example.com/ a.b.c A.B. AB. Ab. :) :))
:( :-) smile:) smile:)) (:) ): used): (x): :D xD <3 8) 8-) o.O 0_0 ^_^ ( ) )) ''). '' ...
wait... .... .5 -- a--b a—b — – word—, …and “Quoted,” ‘single’ it’d well-known mother-in-law
-x- 🙂 🙂🙂 word🙂 👩‍👩‍👧 naïve, café. Straße. Ünïcode-x ж. жук, 日本語。 #tag @user & AT&T C++ C#
f(x) [1] [1], {a} <b> </b> `code` ``x'' \n a/b and/or 2x x2 B2B 3D. Q&A, Mr. Mrs.) Dr., Jan.
Jan, Nov., Ph.D. Inc., co. Co., St. (St.) 11am 11 am. a.m.) No. no. nos. Ill ill
"""
CHUNKS = (
    *NASTY.split(),
    "x" * 301,
    "(" * 301,
    "y" * 300 + ",",
    "(" * 40,
    "." * 30,
    *(f"{before}{'.' * number}" for before in ("", "a", "3", ")") for number in (7, 8, 9)),
    "…" * 9,
    "a" * 299 + "'s",
)


def test_every_pair_of_chunks_is_cut_as_spacy_cuts_it(tokenizer: EnglishTokenizer) -> None:
    assert_as_spacy(
        [*CHUNKS, *(f"{one} {other}" for one in CHUNKS for other in CHUNKS[::17])], tokenizer
    )


def test_chunks_are_cut_together_as_each_by_itself() -> None:
    cutter = unprepared()._cutter
    odd = [*CHUNKS, "a\tb", "\u3000", "x\u00a0y", "qqqq", "b\n", ""]
    for chunks in (pa.array(odd, pa.large_string()), pa.array(odd, pa.large_string())[7:-2]):
        cut = cutter.cut(chunks)
        words = [cut.words[start:end].to_pylist() for start, end in pairwise(cut.offsets.tolist())]
        assert words == [by_spacy(chunk)[0] for chunk in chunks.to_pylist()]
    assert not cutter.cut(pa.array([], pa.large_string())).words


@pytest.mark.parametrize(
    "text", ["", " ", "  two  spaces ", " led", "trailed ", "a\tb  c", "tab\t end", "line\n"]
)
def test_other_white_space_is_as_spacy_has_it(tokenizer: EnglishTokenizer, text: str) -> None:
    assert_as_spacy([text, f"x {text}"], tokenizer)


@pytest.mark.slow
def test_threads_may_cut_side_by_side() -> None:
    def new_forms(thread: int) -> list[list[str]]:
        letters = "éüñçøßåæ"
        return [
            [f"{letters[thread]}{letters[n % 8] * (n % 9)}{call * '-'}x{n}." for n in range(150)]
            for call in range(20)
        ]

    def cut(tokenizer: EnglishTokenizer, calls: list[list[str]]) -> list[Any]:
        return [tokenizer.tokenize(texts) for texts in calls]

    calls = [new_forms(thread) for thread in range(4)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as threads:
            together = list(threads.map(functools.partial(cut, EnglishTokenizer()), calls))
    finally:
        sys.setswitchinterval(before)
    assert together == [cut(EnglishTokenizer(), of_thread) for of_thread in calls]


@pytest.mark.slow
def test_the_embedded_text_is_cut_as_spacy_cuts_it(tokenizer: EnglishTokenizer) -> None:
    for document in islice(PythonDocs().documents(), 0, None, 5):
        paragraphs = [item for item in document.paragraphs if isinstance(item, Paragraph)]
        texts = [clean_text(paragraph.text)[0] for paragraph in paragraphs]
        assert_as_spacy(texts, tokenizer)


def test_every_known_form_is_cut_as_spacy_cuts_it() -> None:
    shipped = shipped_forms()
    assert shipped is not None, "the file is of another spaCy than the one that is installed"
    assert shipped.named == english_rules().named()
    asking = ChunkCutter(english_rules)
    chunks = pa.array([form.replace(" ", "") for form in shipped.forms], pa.large_string())
    cut = asking.cut(chunks)
    words = cut.words.to_pylist()
    found = [" ".join(words[start:end]) for start, end in pairwise(cut.offsets.tolist())]
    assert found == list(shipped.forms)
    assert cut.stands.all()


ORDINARY = [
    "The cat sat on the mat, didn't it?",
    "“I don't know,” said John's mother-in-law (who wasn't there).",
    "A man is playing a guitar.",
    "In 1999, 12,345 people paid $20 for it; 5% didn't!",
    'He asked: "Where\'s the U.S. team at 10:30 a.m.?"',
]


def loaded_by(code: str) -> str:
    found = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint('spacy' in sys.modules)"],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        check=True,
    )
    return found.stdout


@pytest.mark.slow
def test_ordinary_text_loads_no_spacy() -> None:
    begin = "from treeviews.pipeline.text.tokenization import EnglishTokenizer as T\n"
    assert loaded_by(f"{begin}T().tokenize({ORDINARY!r})") == "False\n"
    assert loaded_by(f"{begin}T().tokenize(['An odd_ch{{unk}}~of/marks'])") == "True\n"
