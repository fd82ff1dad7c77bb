"""The campaign's hostile texts, some of each kind, and that the part sees what goes wrong."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest

from benchmarks.chaos import __main__ as chaos
from benchmarks.chaos.hostile_texts_table import TEXTS
from benchmarks.chaos.parts import hostile_texts
from benchmarks.chaos.trial import Options, Trial
from pipeline.sources import paragraphs


@pytest.mark.slow
def test_some_of_each_kind_are_survived(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--work", str(tmp_path / "work"), "--parts", "hostile_texts", "--quick"]
    assert chaos.main(arguments) == 0, capsys.readouterr().out


def tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *names: str) -> dict[str, Trial]:
    chosen = tuple(text for text in TEXTS if text.what in names)
    monkeypatch.setattr(hostile_texts, "TEXTS", chosen)
    monkeypatch.setattr(hostile_texts, "_parse", lambda *arguments: None)
    return {one.what: one for one in hostile_texts.trials(Options(tmp_path, False, 0))}


def test_a_text_that_is_let_in_is_no_survivor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paragraphs, "_UNDECODABLE", re.compile("never"))
    found = tried(tmp_path, monkeypatch, "a lone byte 0xFF", "one letter")
    assert found["one letter"].survived
    assert not found["a lone byte 0xFF"].survived
    assert "were to be refused" in found["a lone byte 0xFF"].outcome


def test_a_text_that_ends_the_run_is_named_and_its_neighbours_survive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = paragraphs.paragraphs_of

    def failing(lines, name, mode, **limits):
        if name in failing_files:
            raise RuntimeError("not foreseen")
        return read(lines, name, mode, **limits)

    monkeypatch.setattr("pipeline.sources.text_file.paragraphs_of", failing)
    failing_files = {"001/text.txt"}
    found = tried(tmp_path, monkeypatch, "a lone byte 0xFF", "one letter")
    assert all(one.survived for one in found.values())  # apart, neither is the second
    failing_files = {"000/text.txt"}
    found = tried(tmp_path / "again", monkeypatch, "one letter")
    assert not found["one letter"].survived
    assert found["one letter"].outcome == "RuntimeError: not foreseen"


def test_what_does_not_end_is_left_behind() -> None:
    never = threading.Event()
    with pytest.raises(TimeoutError, match="no end within"):
        hostile_texts.within(0.05, never.wait)
    never.set()


def test_the_table_has_a_line_a_text() -> None:
    names = [text.what for text in TEXTS]
    assert len(set(names)) == len(names) == 160
