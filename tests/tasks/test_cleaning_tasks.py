from __future__ import annotations

from tests.support.luigi_builds import build
from treeviews.pipeline.text.cleaning_steps import profile
from treeviews.pipeline.text.find_duplicates import Duplicates
from treeviews.pipeline.text.split_parts import DUPLICATES_FOLDER
from treeviews.tasks import SplitSentences

SENTENCE = "The ferry crossed the bay twice a day and nobody remembered a year without it."
GULLS = "Gulls followed the boat out, and cried above the wake that it left in the grey water."


def test_duplicates_are_found_by_jobs_and_once(tmp_path, monkeypatch):
    monkeypatch.setattr("treeviews.pipeline.text.plan.rows_in_shard", lambda number: 1)
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "a.txt").write_text(f"{SENTENCE}\n\n{GULLS}")
    (tmp_path / "text" / "b.txt").write_text(f"{GULLS} Boys threw bread.\n\n{SENTENCE}")
    task = SplitSentences(
        source="files",
        paths=str(tmp_path / "text"),
        cleaning_changes={"duplicates": "exact"},
        work_folder=tmp_path / "work",
    )
    assert build(task)
    folder = task.folder / DUPLICATES_FOLDER
    found = [Duplicates(folder).of(number) for number in range(2)]
    assert [{item: why.reason for item, why in part.items()} for part in found] == [
        {},
        {1: "exact_duplicate"},
    ]
    stamps = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    (task.folder / task.marker).unlink()
    assert build(task)
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps


def test_a_profile_and_changes_give_the_steps():
    split = SplitSentences(cleaning="clean", cleaning_changes={"language": ""})
    assert split.resolved_cleaning() == profile("clean", {"language": ""})
    assert not SplitSentences().resolved_cleaning().is_on
