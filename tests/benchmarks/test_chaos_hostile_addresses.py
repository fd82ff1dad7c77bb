"""The campaign's hostile addresses, some of each kind, and that the part sees what goes wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.chaos import __main__ as chaos
from benchmarks.chaos.parts import hostile_addresses
from benchmarks.chaos.trial import Options, Trial


@pytest.mark.slow
def test_some_of_each_kind_are_survived(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--work", str(tmp_path / "work"), "--parts", "hostile_addresses", "--quick"]
    assert chaos.main(arguments) == 0, capsys.readouterr().out


def tried(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trial:
    chosen = tuple(one for one in hostile_addresses.ADDRESSES if one.what == what)
    monkeypatch.setattr(hostile_addresses, "ADDRESSES", chosen)
    (found,) = hostile_addresses.trials(Options(tmp_path, False, 0))
    return found


def test_an_endless_body_of_which_too_much_is_taken_is_no_survivor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    careless = replace(hostile_addresses.CONFIG, max_bytes=1 << 23)
    monkeypatch.setattr(hostile_addresses, "CONFIG", careless)
    found = tried("an endless body", tmp_path, monkeypatch)
    assert not found.survived


def test_a_password_that_is_told_is_no_survivor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.downloads.download.told", str)
    found = tried("a wrong login", tmp_path, monkeypatch)
    assert not found.survived
    assert "a password are told" in found.outcome
