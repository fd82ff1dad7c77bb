from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipeline.sources import python_docs
from pipeline.sources.python_docs import PythonDocs
from pipeline.sources.streams import documents_of

MODULE = '''
"""Boats and their harbours."""

class Boat:
    """A boat is a vessel for trips on water."""

    def sail(self):
        """Sail the boat out of the harbour.

        >>> Boat().sail()
        """

    def sink(self):
        """A boat is a vessel for trips on water."""

def harbour():
    "Return the harbour of a boat"
'''


@pytest.fixture(scope="module")
def corpus() -> list[tuple[str, list[str]]]:
    """The documents of the running interpreter."""
    documents = documents_of(PythonDocs())
    return [(d.document_id, [p.text for p in d.paragraphs]) for d in documents]


@pytest.fixture
def library(tmp_path, monkeypatch) -> Path:
    """A standard library of one module."""
    (tmp_path / "json").mkdir()
    (tmp_path / "json" / "__init__.py").write_text(MODULE)
    (tmp_path / "notes.py").write_text('"""This file is not of the library."""')
    monkeypatch.setattr(python_docs, "_library_root", lambda: tmp_path)
    monkeypatch.setattr(python_docs, "_topics", lambda: [("boats", "The sea is where they are.")])
    return tmp_path


def test_topics_come_first_then_modules_in_source_order_without_repeats(library):
    found = [
        (document.document_id, [(p.text, p.position) for p in document.paragraphs])
        for document in documents_of(PythonDocs())
    ]
    assert found == [
        ("topic/boats", [("The sea is where they are.", "topic boats")]),
        (
            "module/json",
            [
                ("Boats and their harbours.", "json/__init__.py:2"),
                ("A boat is a vessel for trips on water.", "json/__init__.py:5"),
                ("Sail the boat out of the harbour.", "json/__init__.py:8"),
                ("Return the harbour of a boat.", "json/__init__.py:17"),
            ],
        ),
    ]


def test_the_description_follows_the_sources(library):
    before = PythonDocs().describe()
    (library / "json" / "tool.py").write_text('"""A new module of the library."""')
    python_docs._sources_checksum.cache_clear()
    assert PythonDocs().describe() != before
    python_docs._sources_checksum.cache_clear()


def test_an_interpreter_without_sources_is_an_error(library):
    (library / "json" / "__init__.py").unlink()
    with pytest.raises(FileNotFoundError, match=r"no Python sources.*use source 'files'"):
        next(documents_of(PythonDocs()))


@pytest.mark.slow
def test_the_running_interpreter_holds_a_corpus(corpus):
    text = " ".join(paragraph for _, paragraphs in corpus for paragraph in paragraphs)
    assert len(re.findall(r"[.!?:] ", text)) > 10_000
    assert len({name for name, _ in corpus}) == len(corpus)


@pytest.mark.slow
def test_it_reads_as_prose(corpus):
    paragraphs = [paragraph for _, found in corpus for paragraph in found]
    assert len(set(paragraphs)) == len(paragraphs)
    for paragraph in paragraphs:
        assert paragraph == " ".join(paragraph.split())
        assert re.search(r"[.!?:…][)\]\"'”’]*$", paragraph), paragraph
        assert not re.search(r">>>|::=|``|\+--|:param", paragraph), paragraph
