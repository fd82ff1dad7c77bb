"""Hostile folders are refused, and the campaign notices where one is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.chaos.__main__ import main
from benchmarks.chaos.folders import Good
from benchmarks.chaos.parts.hostile_folders import DOORS, TABLE, Hostile, tried

LISTED = Hostile("scores a list", "scores", lambda *_: None, ("scores.json", "an object", "remove"))


def test_there_are_many_of_them_and_each_is_told_from_the_others() -> None:
    names = [(hostile.door, hostile.what) for hostile in TABLE]
    assert len(names) == len(set(names)) >= 80


def test_some_of_each_kind_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["--work", str(tmp_path), "--parts", "hostile_folders", "--quick"])
    assert status == 0, capsys.readouterr().out


@pytest.mark.slow
def test_a_checkpoint_that_is_a_trap_is_refused_by_the_command(tmp_path: Path) -> None:
    good = Good(tmp_path / "good")
    for number, what in enumerate(["a tar with a hard link", "label_vocab missing"]):
        (hostile,) = (hostile for hostile in TABLE if hostile.what == what)
        path = tmp_path / str(number)
        hostile.make(good, path)
        trial = tried(hostile, DOORS["convert"], path, good)
        assert trial.survived, trial


@pytest.mark.parametrize(
    ("raised", "outcome"),
    [
        (None, "taken for a good one"),
        (KeyError("label_vocab"), "not told in a sentence: KeyError"),
        (ValueError("scores.json: not an object"), "does not say 'remove'"),
        (ValueError("scores.json: an object\nor remove it"), "not one short printable line"),
        (ValueError("scores.json: no object: do-not-tell; remove"), "does not say 'an object'"),
        (ValueError("scores.json: an object, not do-not-tell; remove"), "tells of another file"),
    ],
)
def test_whatever_is_no_refusal_is_noticed(
    tmp_path: Path, raised: Exception | None, outcome: str
) -> None:
    def door(path: Path) -> None:
        if raised is not None:
            raise raised

    trial = tried(LISTED, door, tmp_path / "any", Good(tmp_path / "good"))
    assert not trial.survived
    assert outcome in trial.outcome


def test_a_victim_that_changes_is_noticed(tmp_path: Path) -> None:
    good = Good(tmp_path / "good")

    def door(path: Path) -> None:
        good.victim.chmod(0o4777)
        raise ValueError("scores.json: an object is wanted; remove the file")

    trial = tried(LISTED, door, tmp_path / "any", good)
    assert not trial.survived
    assert "files beside it changed" in trial.outcome
