"""What of a target is there, and what its run would make."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.luigi_builds import build
from tests.support.small_stages import Bread, Grain, Meal
from tests.support.stories import write_stories
from treeviews.command import main
from treeviews.tasks.target_status import StageStatus, State, status_lines, status_of


def states(stages: list[StageStatus]) -> dict[str, State]:
    return {stage.folder.parent.name: stage.state for stage in stages if stage.folder is not None}


def test_each_folder_is_one_stage_and_what_is_needed_comes_first(tmp_path: Path) -> None:
    stages = status_of(Meal(work_folder=tmp_path))

    assert [stage.name for stage in stages] == ["Grain", "Grain", "Bread", "Meal"]
    assert {stage.state for stage in stages} == {"missing"}
    assert all(stage.would_run for stage in stages)
    assert not any(tmp_path.iterdir())


def test_what_is_done_begun_and_not_needed_is_told(tmp_path: Path) -> None:
    rye, bread = Grain(work_folder=tmp_path), Bread(work_folder=tmp_path)
    assert build(rye)
    bread.folder.mkdir(parents=True)
    (bread.folder / "crumbs").write_text("half", encoding="utf-8")

    begun = status_of(bread)
    assert [stage.state for stage in begun] == ["done", "missing", "begun"]
    assert [stage.would_run for stage in begun] == [False, True, True]
    assert begun[0].num_bytes > 0

    (bread.folder / bread.marker).write_text("{}", encoding="utf-8")
    done = status_of(bread)
    assert [stage.state for stage in done] == ["done", "missing", "done"]
    assert not any(stage.would_run for stage in done)


def test_a_stage_that_is_damaged_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(task: Grain) -> bool:
        raise ValueError(f"the grain of {task.kind} is mouldy; throw it away")

    monkeypatch.setattr(Grain, "complete", damaged)
    lines = status_lines(status_of(Bread(work_folder=tmp_path)))

    assert lines[0].split() == ["damaged", "Grain", "×", "2"]
    assert lines[1].strip() == "the grain of rye is mouldy; throw it away"
    assert lines[-1] == "would run: Grain × 2, Bread"


def test_the_command_takes_the_command_line_of_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = write_stories(tmp_path / "texts", num_documents=1, num_sentences=3)
    asked = ["--source", "files", "--paths", str(text), "--work-folder", str(tmp_path / "work")]

    assert main(["status", "ParseDependencies", *asked]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == (
        "would run: SplitSentences, ParseDependencies"
    )
    assert main(["status", "ParseDependencies", *asked, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [(stage["state"], stage["would_run"]) for stage in shown] == [("missing", True)] * 2
