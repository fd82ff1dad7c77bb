"""``treeviews status``, ``why`` and ``runs``, on a corpus of a few sentences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tasks import SplitSentences
from tasks.runs.records import Records
from tests.tasks.runs.test_recording import run
from treeviews.command import main


@pytest.fixture
def asked(tmp_path: Path) -> list[str]:
    """Parameters of a stage that is done and recorded."""
    text, work = tmp_path / "story.txt", tmp_path / "work"
    text.write_text("The rain stopped. The children ran out.\n", encoding="utf-8")
    run(SplitSentences(work_folder=work, source="files", paths=str(text)))
    return ["--source", "files", "--paths", str(text), "--work-folder", str(work)]


def name_in(asked: list[str]) -> str:
    (record,) = Records(Path(asked[-1]))
    return record.name


def test_status_takes_the_command_line_of_run(
    asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", "SplitSentences", *asked]) == 0

    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == f"SplitSentences, run {name_in(asked)}: 1 of 1 stages done"
    assert shown[1].startswith("done  SplitSentences")
    assert shown[-1] == "nothing would run: all that was asked for is there"


def test_status_as_json_has_what_would_run(
    asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", "ParseDependencies", "--json", *asked]) == 0

    shown = json.loads(capsys.readouterr().out)
    assert [stage["state"] for stage in shown["stages"]] == ["done", "missing"]
    assert shown["would_run"] == [shown["stages"][1]["id"]]


def test_why_says_what_changed(asked: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "SplitSentences", *asked, "--limit", "1"]) == 0

    assert "  --limit: none → 1" in capsys.readouterr().out.splitlines()


def test_why_as_json(asked: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "SplitSentences", *asked, "--limit", "1", "--json"]) == 0

    (reason,) = json.loads(capsys.readouterr().out)["would_run"]
    assert (reason["kind"], reason["sentences"]) == ("changed", ["--limit: none → 1"])


@pytest.mark.parametrize("command", ["status", "why"])
def test_a_mistake_in_the_parameters_is_refused(
    command: str, asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "SplitSentences", *asked, "--limt", "1"]) == 2

    assert "did you mean --limit?" in capsys.readouterr().err


def test_runs_are_listed_and_chosen(asked: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    work = asked[-1]

    assert main(["runs", "--work-folder", work]) == 0
    assert name_in(asked) in capsys.readouterr().out
    assert main(["runs", "--work-folder", work, "--state", "failed"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["runs", "--work-folder", work, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["state"] == "done"


def test_a_damaged_record_is_told_beside_the_list(
    asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (Path(asked[-1]) / "runs" / "calm-otter.json").write_text("{", encoding="utf-8")

    assert main(["runs", "--work-folder", asked[-1]]) == 0

    shown = capsys.readouterr()
    assert name_in(asked) in shown.out
    assert "left out:" in shown.err
    assert "calm-otter.json: not JSON" in shown.err


def test_a_run_is_shown_and_renamed(asked: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    work = ["--work-folder", asked[-1]]

    assert main(["runs", "name", name_in(asked), "my-story", *work]) == 0
    assert main(["runs", "show", "my-story", *work]) == 0

    assert "SplitSentences" in capsys.readouterr().out
    assert main(["runs", "show", "my-stori", *work]) == 2
    assert "did you mean my-story?" in capsys.readouterr().err


def test_a_removal_is_shown_first_and_can_be_tried(
    asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    work, name = Path(asked[-1]), name_in(asked)

    assert main(["runs", "rm", name, "--dry-run", "--work-folder", str(work)]) == 0
    assert "corpora/files-" in capsys.readouterr().out
    assert any((work / "corpora").iterdir())
    assert main(["runs", "rm", name, "--work-folder", str(work)]) == 1  # nobody answers
    assert any((work / "corpora").iterdir())
    assert main(["runs", "rm", name, "--yes", "--work-folder", str(work)]) == 0
    assert not (work / "corpora").exists()


def test_no_work_folder_is_a_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "--work-folder", str(tmp_path / "none")]) == 2

    assert "no such work folder" in capsys.readouterr().err
