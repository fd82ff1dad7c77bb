from __future__ import annotations

import json

from pipeline.text.cleaning_steps import CleaningConfig, profile
from pipeline.text.find_duplicates import Duplicates
from pipeline.text.plan import plan_of
from pipeline.text.text_sources import FilesConfig, TextFiles
from tasks import FindDuplicates, SplitSentences
from tests.support.luigi_builds import build

SENTENCE = "The ferry crossed the bay twice a day and nobody remembered a year without it."
GULLS = "Gulls followed the boat out, and cried above the wake that it left in the grey water."


def task(folder):
    """Finds duplicates in two documents, signed by one job each."""
    (folder / "text").mkdir(exist_ok=True)
    (folder / "text" / "a.txt").write_text(f"{SENTENCE}\n\n{GULLS}")
    (folder / "text" / "b.txt").write_text(f"{GULLS} Boys threw bread.\n\n{SENTENCE}")
    plan = plan_of(TextFiles([folder / "text"], FilesConfig()))
    (folder / "plan.json").write_text(json.dumps(plan.to_dict()))
    return FindDuplicates(
        plan=folder / "plan.json",
        destination=folder / "duplicates",
        cleaning=CleaningConfig(duplicates="exact").to_dict(),
        runs=[[0, 1], [1, 1]],
    )


def test_duplicates_are_found_by_jobs_and_once(tmp_path, monkeypatch):
    monkeypatch.setattr("pipeline.text.plan.rows_in_shard", lambda number: 1)
    assert build(task(tmp_path))
    duplicates = Duplicates(tmp_path / "duplicates")
    found = [duplicates.of(number) for number in range(2)]
    assert [{item: why.reason for item, why in part.items()} for part in found] == [
        {},
        {1: "exact_duplicate"},
    ]
    stamps = {path: path.stat().st_mtime_ns for path in (tmp_path / "duplicates").iterdir()}
    assert build(task(tmp_path))
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps


def test_a_profile_and_changes_give_the_steps():
    split = SplitSentences(cleaning="clean", cleaning_changes={"language": ""})
    assert split.resolved_cleaning() == profile("clean", {"language": ""})
    assert not SplitSentences().resolved_cleaning().is_on
