"""Makes the file of known forms: ``python data/make_english.py [TEXT …]``.

They are those of the default run's text, of the texts that are given, and of the file that is
there, in which words, special cases and numbers stand between the marks of prose.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa

from treeviews.pipeline.base.bundled import BUNDLED_FORMS
from treeviews.pipeline.base.json_files import read_object, write_sealed_json
from treeviews.pipeline.text.chunks import (
    FORM_FIELDS,
    FORMS_REMEDY,
    ChunkCutter,
    _flat,
    _places_of_others,
    _strings,
)
from treeviews.pipeline.text.documents import Paragraph
from treeviews.pipeline.text.text_sources import PythonDocs
from treeviews.pipeline.text.tokenization import clean_text, english_rules, rules_version

LEAST_TIMES = 2
"""That a form must occur in the text; half of all occur once, and most of these never again."""


def main(texts: Sequence[str]) -> int:
    """Writes the file; returns the exit code."""
    cutter = ChunkCutter(english_rules)
    usual = _usual_chunks(chain(_default_text(), _lines(map(Path, texts))))
    kept = set(usual)
    if BUNDLED_FORMS.exists():
        former = read_object(BUNDLED_FORMS, FORM_FIELDS, remedy=FORMS_REMEDY)["forms"]
        kept.update(form.replace(" ", "") for form in former)
    cutter.cut(pa.array(sorted(kept), pa.large_string()))
    forms = _plain_forms(cutter)
    values = [rules_version(), sorted(english_rules().named()), forms]
    write_sealed_json(BUNDLED_FORMS, dict(zip(FORM_FIELDS, values, strict=True)))
    print(f"{len(forms)} forms, {BUNDLED_FORMS.stat().st_size} bytes: {BUNDLED_FORMS}")
    return 0


def forms_of(cutter: ChunkCutter, chunks: pa.Array) -> list[str]:
    """Returns the form of each chunk; chunks as `ChunkCutter.cut` takes them."""
    form, _, offsets = cutter._form(*_flat(chunks))
    forms: list[str] = _strings(form, offsets).to_pylist()
    return forms


def _plain_forms(cutter: ChunkCutter) -> list[str]:
    """Returns the forms that a cutter knows by now as `KnownForms` takes them, sorted.

    Those that not all texts cut alike, and those with other characters than `_places_of_others`
    passes over, are left out.
    """
    found = []
    for form, (ends, stands) in cutter._cuts.items():
        content = form.encode()
        is_plain = not len(_places_of_others(np.frombuffer(content + b"   ", np.uint8)[:-3]))
        if form and is_plain and stands:
            pieces = [content[a:b] for a, b in zip([0, *ends], ends, strict=False)]
            found.append(b" ".join(pieces).decode())
    return sorted(found)


def _usual_chunks(texts: Iterable[str]) -> list[str]:
    """Returns a chunk of each form that occurs often enough; of one, the first that is met."""
    cutter = ChunkCutter(english_rules)
    times: Counter[str] = Counter()
    for text in texts:
        times.update(text.split(" "))
    chunks = pa.array(times, pa.large_string())
    forms = forms_of(cutter, chunks)
    of_form: Counter[str] = Counter()
    for form, chunk in zip(forms, times, strict=True):
        of_form[form] += times[chunk]
    return [form for form, number in of_form.items() if number >= LEAST_TIMES]


def _default_text() -> Iterator[str]:
    for document in PythonDocs().documents():
        for item in document.paragraphs:
            if isinstance(item, Paragraph):
                yield clean_text(item.text)[0]


def _lines(paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        with path.open(encoding="utf-8", errors="replace") as stream:
            yield from (clean_text(line)[0] for line in stream)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
