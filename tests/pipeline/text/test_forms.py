"""The file of known forms says what spaCy says, and spares most processes loading it."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

from pipeline.base.bundled import BUNDLED_FORMS
from pipeline.text.chunks import (
    ChunkCutter,
    KnownForms,
    read_forms,
)
from pipeline.text.tokenization import (
    english_rules,
    rules_version,
    shipped_forms,
)
from tests.support.repository import REPOSITORY

ORDINARY = [
    "The cat sat on the mat, didn't it?",
    "“I don't know,” said John's mother-in-law (who wasn't there).",
    "A man is playing a guitar.",
    "In 1999, 12,345 people paid $20 for it; 5% didn't!",
    'He asked: "Where\'s the U.S. team at 10:30 a.m.?"',
]


@pytest.fixture(scope="module")
def shipped() -> KnownForms:
    forms = shipped_forms()
    assert forms is not None, "the file is of another spaCy than the one that is installed"
    return forms


def test_every_known_form_is_cut_as_spacy_cuts_it(shipped: KnownForms) -> None:
    asking = ChunkCutter(english_rules)
    chunks = pa.array([form.replace(" ", "") for form in shipped.forms], pa.large_string())
    cut = asking.cut(chunks)
    words = cut.words.to_pylist()
    found = [" ".join(words[start:end]) for start, end in pairwise(cut.offsets.tolist())]
    assert found == list(shipped.forms)
    assert cut.stands.all()
    assert asking.forms_of(chunks) == chunks.to_pylist()


def test_what_has_a_meaning_is_what_the_rules_name(shipped: KnownForms) -> None:
    assert shipped.named == english_rules().named()


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
    begin = "from pipeline.text.tokenization import EnglishTokenizer as T\n"
    assert loaded_by(f"{begin}T().tokenize({ORDINARY!r})") == "False\n"
    assert loaded_by(f"{begin}T().tokenize(['An odd_ch{{unk}}~of/marks'])") == "True\n"


def test_forms_of_other_rules_and_damaged_ones_are_passed_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, rules = tmp_path / "forms.json", rules_version()
    assert read_forms(tmp_path / "absent.json", rules) is None
    assert read_forms(BUNDLED_FORMS, {**rules, "spacy": "2.0"}) is None
    path.write_text(BUNDLED_FORMS.read_text("utf-8").replace("( qq", "(q q", 1), "utf-8")
    assert read_forms(path, rules) is None
    assert "spaCy is asked about every form" in caplog.text
