"""The campaign's command: parts that break, and parts that try nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks.chaos import __main__ as campaign
from benchmarks.chaos import parts
from benchmarks.chaos.trial import Options, Trial


def two_and_a_break(options: Options) -> Iterator[Trial]:
    yield Trial("one", True, "fine")
    yield Trial("two", True, options.work.name)
    raise KeyError("rows")


def nothing(options: Options) -> Iterator[Trial]:
    del options
    return iter(())


def fine(options: Options) -> Iterator[Trial]:
    del options
    yield Trial("one", True, "fine")


@pytest.fixture(autouse=True)
def played_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for trials in (two_and_a_break, nothing, fine):
        part = ModuleType(f"{parts.__name__}.{trials.__name__}", "It is played.")
        part.__dict__["trials"] = trials
        monkeypatch.setitem(sys.modules, part.__name__, part)
    # The last one cannot be imported.
    names = ["two_and_a_break", "nothing", "fine", "no_such_part"]
    monkeypatch.setattr(campaign, "PARTS", names)


def test_the_other_parts_go_on_where_one_breaks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["two_and_a_break", "no_such_part", "nothing", "fine"]

    assert campaign.main(["--work", str(tmp_path), "--parts", *names]) == 1

    out = capsys.readouterr().out
    assert "two_and_a_break: the part, after 2 trials: KeyError: 'rows'" in out
    assert "nothing: the part: tried nothing" in out
    assert out.splitlines()[-1] == (
        '{"two_and_a_break": "2 of 3", "no_such_part": "0 of 1", "nothing": "0 of 1", '
        '"fine": "1 of 1"}'
    )


@pytest.mark.parametrize(("part", "code"), [("fine", 0), ("nothing", 1), ("two_and_a_break", 1)])
def test_the_exit_status_is_0_only_where_all_survived(tmp_path: Path, part: str, code: int) -> None:
    assert campaign.main(["--work", str(tmp_path), "--parts", part]) == code


def test_a_folder_that_is_there_is_refused_before_anything_is_tried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "nothing").mkdir()

    assert campaign.main(["--work", str(tmp_path), "--parts", "fine", "nothing"]) == 2

    assert not (tmp_path / "fine").exists()
    assert "exists already" in capsys.readouterr().err
