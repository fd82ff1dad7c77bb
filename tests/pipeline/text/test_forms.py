"""The file of known forms says what spaCy says, and spares most processes loading it."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

from pipeline.text.chunks import ChunkCutter, KnownForms
from pipeline.text.forms import forms_of_any_rules, read_forms, write_forms
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


def test_forms_are_read_as_they_were_written(tmp_path: Path) -> None:
    known = KnownForms(frozenset({"don", "t"}), ["( qq )", "“ Qqq ,"])
    write_forms(tmp_path / "forms.json", rules_version(), known)
    found = read_forms(tmp_path / "forms.json", rules_version())
    assert found is not None
    assert (found.named, list(found.forms)) == (known.named, list(known.forms))


def test_forms_of_another_spacy_are_passed_over(tmp_path: Path) -> None:
    known = KnownForms(frozenset(), ["qq qq"])
    write_forms(tmp_path / "forms.json", {**rules_version(), "spacy": "2.0"}, known)
    assert read_forms(tmp_path / "forms.json", rules_version()) is None
    assert read_forms(tmp_path / "absent.json", rules_version()) is None


def test_a_damaged_file_is_said_and_passed_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "forms.json"
    write_forms(path, rules_version(), KnownForms(frozenset(), ["( qq )"]))
    path.write_text(path.read_text().replace("( qq )", "(q q )"))
    assert json.loads(path.read_text())["forms"] == ["(q q )"]
    assert read_forms(path, rules_version()) is None
    assert "spaCy is asked about every form" in caplog.text


def test_forms_of_other_rules_can_be_cut_anew(tmp_path: Path) -> None:
    write_forms(tmp_path / "forms.json", {"spacy": "2.0"}, KnownForms(frozenset(), ["qq )."]))
    assert forms_of_any_rules(tmp_path / "forms.json") == ["qq )."]
    assert forms_of_any_rules(tmp_path / "absent.json") == []
