"""Makes the file of known forms: ``python -m pipeline.text.make_forms [TEXT …]``.

They are those of the default run's text, of the texts that are given, of the file that is there,
and of words, special cases and numbers between the marks that stand around them in prose.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, product
from pathlib import Path

import pyarrow as pa

from pipeline.base.bundled import BUNDLED_FORMS
from pipeline.sources.paragraphs import Paragraph
from pipeline.sources.python_docs import PythonDocs
from pipeline.sources.streams import documents_of
from pipeline.text.chunks import ChunkCutter, KnownForms
from pipeline.text.cleaning import clean_text
from pipeline.text.forms import forms_of_any_rules, write_forms
from pipeline.text.tokenization import english_rules, rules_version

LEAST_TIMES = 2
"""That a form must occur in the text; half of all occur once, and most of these never again."""
_OPENING = ("", '"', "'", "“", "‘", "(", "[", "—", "–", "-", "…", "...", '("', "(“", "“‘", "#", "@")
_CLOSING = (
    *("", ",", ".", ";", ":", "?", "!", ")", "]", '"', "'", "”", "’", "…", "...", "—", "–", "-"),
    *('."', '."', ',"', '?"', '!"', ".”", ",”", "?”", "!”", "'.", ".'", ".’", ",’", "’.", "?’"),
    *(").", "),", ");", "):", ".)", "?)", "!)", '")', '").', "],", "].", "?!", "!!", "!!!", "??"),
    *("'s", "’s", "'s.", "’s.", "'s,", "’s,", "s'", "s’", ".—", "—and", "...”", '..."', "…”"),
)
_FEW_OPENING = ("", '"', "'", "“", "‘", "(", "—")
_TWO_CLOSING = (").", "),", '."', ',"', '?"', ".”", ",”", "?”", "!”", ".)")
_FEW_CLOSING = ("", ",", ".", ";", ":", "?", "!", ")", '"', "”")
_WORDS = (
    *("a", "ab", "abc", "A", "Ab", "Abc", "AB", "ABC", "ab-cd", "Ab-cd", "Abc-Def", "ab-cd-ef"),
    *("Abc-def", "ABC-abc", "ab/cd", "Ab/Cd", "AbcDef", "Abc'Def", "A.B.", "A.B.C.", "A.", "B.C"),
    *("a-cd", "A-abc", "abc'd", "ab—cd", "ab–cd", "Ab—cd", "ab...cd", "ab…cd", "AB-CD", "McAbc"),
    *("abc_def", "abc.def", "abc.def()", "abc()", "abc(def)", "ab.cd.ef", "ab&cd", "A&B", "ab+cd"),
    *("Abc.com", "www.abc.com", "abc@def.com", "http://abc.com", "https://www.abc.com/def"),
)
_NUMBERS = (
    *("1", "12", "123", "1234", "12345", "123456", "1234567", "1,234", "12,345", "123,456"),
    *("1,234,567", "12,345,678", "1.2", "1.23", "12.3", "12.34", "123.4", "0.1234", "1,234.56"),
    *("1%", "12%", "100%", "1.2%", "12.3%", "$1", "$12", "$123", "$1,234", "$1.2", "$12.34", "£5"),
    *("$1,234,567", "€12", "£12,345", "1st", "2nd", "3rd", "4th", "12th", "21st", "1960s", "80s"),
    *("1:23", "12:34", "1-2", "12-34", "1990-1995", "1990–95", "12–34", "1/2", "3/4", "9/11"),
    *("1/2/1999", "12/31/1999", "1999-12-31", "12-abc", "12-abc-def", "1990s-abc", "mid-1990s"),
    *("10am", "10pm", "5km", "10kg", "12-year-old", "+1", "-1", "-12", "+12", "1x", "12x", "#1"),
    *(
        "#12",
        "No.1",
        "B2B",
        "3D",
        "A1",
        "A12",
        "Ab12",
        "ab12",
        "ab-12",
        "AB-12",
        "1a",
        "2D",
        "'90s",
    ),
)
_PLAINEST = ("a", "ab", "Ab", "Abc", "AB", "ab-cd", "1", "12", "1999")
_DIGITS = [str(digit) for digit in range(10)]
_WITH_DIGIT = ("12.{}", "{}.12", "{},123", "{}%", "{}-12", "12-{}", "${}", "{}-abc")
_SMALL = (  # single digits are told apart, and so are the hours 10 to 12
    *(form.format(digit) for form in _WITH_DIGIT for digit in _DIGITS),
    *(f"{one}{mark}{other}" for one in _DIGITS for mark in ".-" for other in _DIGITS),
    *(f"{hour}:30" for hour in range(25)),
    *("$", "£", "€", "•", "·", "a.k.a.", "p.m", "a.m", "co-ab", "e-ab", "t-abc", "re-ab", "x-abc"),
)
_INITIALS = tuple(  # the rules name S, C and A
    "".join(f"{letter}." for letter in letters)
    for letters in (*product("USCA", repeat=2), *product("US", repeat=3))
)
_LARGER = tuple(number.replace("12", "34") for number in _NUMBERS)  # they name 10 to 12, too
_PAIRED = (*_WORDS, *_NUMBERS, *_LARGER, *_DIGITS, *_INITIALS)
_PAIRS = (("(", ")"), ('"', '"'), ("“", "”"), ("'", "'"), ("‘", "’"), ("[", "]"))
_ENDS = ("", ",", ".")
_IS_WORD = re.compile("[A-Za-z]")


def main(texts: Sequence[str]) -> int:
    """Writes the file; returns the exit code."""
    cutter = ChunkCutter(english_rules)
    usual = _usual_chunks(chain(_default_text(), _lines(map(Path, texts))))
    former = (form.replace(" ", "") for form in forms_of_any_rules(BUNDLED_FORMS))
    kept = set(chain(usual, _made_chunks(), former))
    cutter.cut(pa.array(sorted(kept), pa.large_string()))
    forms = cutter.plain_forms()
    known = KnownForms(english_rules().named(), forms)
    write_forms(BUNDLED_FORMS, rules_version(), known)
    print(f"{len(forms)} forms, {BUNDLED_FORMS.stat().st_size} bytes: {BUNDLED_FORMS}")
    return 0


def _usual_chunks(texts: Iterable[str]) -> list[str]:
    """Returns a chunk of each form that occurs often enough; of one, the first that is met."""
    cutter = ChunkCutter(english_rules)
    times: Counter[str] = Counter()
    for text in texts:
        times.update(text.split(" "))
    chunks = pa.array(times, pa.large_string())
    forms = cutter.forms_of(chunks)
    of_form: Counter[str] = Counter()
    for form, chunk in zip(forms, times, strict=True):
        of_form[form] += times[chunk]
    return [form for form, number in of_form.items() if number >= LEAST_TIMES]


def _default_text() -> Iterator[str]:
    for document in documents_of(PythonDocs()):
        for item in document.paragraphs:
            if isinstance(item, Paragraph):
                yield clean_text(item.text)[0]


def _lines(paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        with path.open(encoding="utf-8", errors="replace") as stream:
            yield from (clean_text(line)[0] for line in stream)


def _made_chunks() -> Iterator[str]:
    """Yields words, numbers and special cases between marks."""
    yield from (f"{a}{core}{z}" for a, core, z in product(_FEW_OPENING, _PLAINEST, _CLOSING))
    for core in _PAIRED:
        yield from (f"{before}{core}" for before in _FEW_OPENING)
        yield from (f"{core}{after}" for after in _CLOSING)
    yield from (f"{core}{after}" for core in _SMALL for after in _FEW_CLOSING)
    for core, (before, after), end in product(_PAIRED, _PAIRS, _ENDS):
        yield f"{before}{core}{after}{end}"
    rules = english_rules()
    for word in (*rules.named(), "a.m.", "p.m."):
        yield from (f"{word}{after}" for after in _TWO_CLOSING)
    for case in (*filter(_IS_WORD.match, rules.special_cases), *sorted(rules.named())):
        yield from (f"{before}{case}" for before in _FEW_OPENING[:-1])
        yield from (f"{case}{after}" for after in _FEW_CLOSING)
    yield from (before + after for before, after in product(_OPENING, _CLOSING))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
