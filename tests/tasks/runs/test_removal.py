"""Removal of runs: what only they need, and nothing else, whatever a record says."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import luigi
import pytest

from pipeline.base.atomic_files import locked
from tasks.runs.graph import identity_of
from tasks.runs.recorded.removal import planned, remove
from tasks.runs.recording import recorded
from tasks.runs.records import Record, Records
from tests.support.luigi_builds import build
from tests.support.small_stages import Grain, Meal, Toast
from tests.tasks.runs.test_recording import run


def name_of(work: Path, task: luigi.Task) -> str:
    run(task)
    record = Records(work).of_digest(identity_of(task))
    assert record is not None
    return record.name


def folders(work: Path) -> set[str]:
    return {path.parent.name for path in work.rglob("manifest.json")}


def edited(work: Path, name: str, edit: Callable[[Record], Record]) -> None:
    """Writes a record that says something else, sealed as if it had been so."""
    records = Records(work)
    records.write(edit(records.named(name)))


def with_folder(path: str) -> Callable[[Record], Record]:
    def edit(record: Record) -> Record:
        first, *others = record.stages
        return replace(record, stages=(replace(first, folders=(path,)), *others))

    return edit


def with_parameters(parameters: dict[str, Any]) -> Callable[[Record], Record]:
    def edit(record: Record) -> Record:
        first, *others = record.stages
        return replace(record, stages=(replace(first, parameters=parameters), *others))

    return edit


def test_what_another_run_needs_stays(tmp_path: Path) -> None:
    first = Meal(work_folder=tmp_path)
    one, _ = name_of(tmp_path, first), run(Meal(work_folder=tmp_path, salt=3.0))
    records = Records(tmp_path)

    removed = remove(records, planned(records, [one]))

    bread = first.requires()
    assert list(removed.folders) == [bread.folder.relative_to(tmp_path).as_posix()]
    assert not bread.folder.exists()
    assert len(folders(tmp_path)) == 3  # two sorts of grain and the other bread
    assert len(list(records)) == 1


def test_runs_that_share_are_removed_together(tmp_path: Path) -> None:
    run(Meal(work_folder=tmp_path))
    run(Meal(work_folder=tmp_path, salt=3.0))
    records = Records(tmp_path)
    plan = planned(records, [record.name for record in records])

    remove(records, plan)

    assert folders(tmp_path) == set()
    assert {path.name for path in tmp_path.iterdir()} == {"runs"}
    assert records.paths() == []


def test_a_plan_changes_nothing(tmp_path: Path) -> None:
    name = name_of(tmp_path, Meal(work_folder=tmp_path))
    before = folders(tmp_path)

    plan = planned(Records(tmp_path), [name])

    assert plan.num_bytes > 0
    assert folders(tmp_path) == before


def test_what_no_record_knows_stays_with_all_that_it_was_made_from(tmp_path: Path) -> None:
    name = name_of(tmp_path, Meal(work_folder=tmp_path))
    unrecorded = Meal(work_folder=tmp_path, salt=9.0)
    build(unrecorded)
    records = Records(tmp_path)

    removed = remove(records, planned(records, [name]))

    assert len(removed.folders) == 1
    assert all("no recorded run knows" in why for why in removed.kept.values())
    assert unrecorded.requires().folder.exists()
    assert all(task.complete() for task in unrecorded.requires().requires()["grains"])


def test_a_folder_that_no_run_made_is_not_touched(tmp_path: Path) -> None:
    name = name_of(tmp_path, Meal(work_folder=tmp_path))
    own = tmp_path / "grain" / "notes.txt"
    own.write_text("mine", encoding="utf-8")
    records = Records(tmp_path)

    remove(records, planned(records, [name]))

    assert own.exists()


@pytest.mark.parametrize(
    "path", ["../outside", "/tmp", "grain/../../outside", ".", "grain", "runs"]
)
def test_a_tampered_path_is_not_followed(path: str, tmp_path: Path) -> None:
    work, outside = tmp_path / "work", tmp_path / "outside"
    name = name_of(work, Meal(work_folder=work))
    outside.mkdir()
    (outside / "file").touch()
    edited(work, name, with_folder(path))
    records = Records(work)

    remove(records, planned(records, [name]))

    assert (outside / "file").exists()
    assert any("grain" in str(folder) for folder in work.iterdir())


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    work, outside = tmp_path / "work", tmp_path / "outside"
    meal = Meal(work_folder=work)
    name = name_of(work, meal)
    bread = meal.requires().folder
    outside.mkdir()
    bread.rename(outside / "loaf")
    bread.symlink_to(outside / "loaf")
    records = Records(work)

    remove(records, planned(records, [name]))

    assert (outside / "loaf" / "manifest.json").exists()
    assert bread.is_symlink()


def test_a_folder_that_holds_one_of_another_run_is_not_removed(tmp_path: Path) -> None:
    name = name_of(tmp_path, Grain(work_folder=tmp_path))
    other = name_of(tmp_path, Grain(work_folder=tmp_path, kind="oats"))
    inner = tmp_path / "shared" / "place" / "inner"
    inner.mkdir(parents=True)
    edited(tmp_path, name, with_folder("shared/place"))
    edited(tmp_path, other, with_folder("shared/place/inner"))

    plan = planned(Records(tmp_path), [name])

    assert plan.kept["shared/place"] == "it holds shared/place/inner"
    assert "shared/place" not in plan.folders


def test_a_run_at_work_is_not_removed(tmp_path: Path) -> None:
    meal = Meal(work_folder=tmp_path)
    name = name_of(tmp_path, meal)
    records = Records(tmp_path)
    plan = planned(records, [name])

    with recorded(meal), pytest.raises(ValueError, match="is at work; stop it"):
        remove(records, plan)

    assert len(folders(tmp_path)) == 3


def test_nothing_is_removed_while_a_run_is_at_work_that_will_ask_for_more(tmp_path: Path) -> None:
    oats = Grain(work_folder=tmp_path, kind="oats")
    name = name_of(tmp_path, oats)
    records = Records(tmp_path)

    with recorded(Toast(work_folder=tmp_path)), pytest.raises(ValueError, match="not all known"):
        planned(records, [name])
    with recorded(Meal(work_folder=tmp_path)):  # it asks for nothing on its way
        assert planned(records, [name]).folders

    assert oats.complete()


def test_a_folder_in_which_somebody_works_is_not_pulled_away(tmp_path: Path) -> None:
    meal = Meal(work_folder=tmp_path)
    name = name_of(tmp_path, meal)
    records = Records(tmp_path)
    bread = meal.requires()

    with (
        locked(bread.folder / "run.lock", lambda: None),
        pytest.raises(ValueError, match="another run is at work there"),
    ):
        remove(records, planned(records, [name]))

    assert meal.complete()
    assert records.named(name)


def test_with_a_damaged_record_nothing_is_removed(tmp_path: Path) -> None:
    name = name_of(tmp_path, Meal(work_folder=tmp_path))
    (tmp_path / "runs" / "calm-otter.json").write_text("{", encoding="utf-8")

    with pytest.raises(ValueError, match="nobody knows which folders its run needs"):
        planned(Records(tmp_path), [name])


def test_what_a_killed_removal_left_goes_with_the_next(tmp_path: Path) -> None:
    name = name_of(tmp_path, Meal(work_folder=tmp_path))
    left = tmp_path / "runs" / ".removed-0123abcd" / "x"
    left.mkdir(parents=True)
    records = Records(tmp_path)

    remove(records, planned(records, [name]))

    assert not left.parent.exists()


def test_a_run_may_be_called_as_it_likes(tmp_path: Path) -> None:
    name = name_of(tmp_path, Meal(work_folder=tmp_path))
    run(Meal(work_folder=tmp_path, salt=3.0))
    records = Records(tmp_path)
    (other,) = {record.name for record in records} - {name}
    records.rename(other, "removed-old")

    remove(records, planned(records, [name]))

    assert [record.name for record in records] == ["removed-old"]


def test_what_another_run_was_given_by_its_path_stays(tmp_path: Path) -> None:
    grain = Grain(work_folder=tmp_path)
    name = name_of(tmp_path, grain)
    taken = f"{grain.folder}@0-SEQ+elsewhere"
    other = name_of(tmp_path, Grain(work_folder=tmp_path, kind="oats"))
    edited(tmp_path, other, with_parameters({"changes": {"parser": [taken]}}))

    plan = planned(Records(tmp_path), [name])

    assert plan.folders == {}
    assert list(plan.kept.values()) == [f"run {other} was given it by its path"]


@pytest.mark.parametrize("text", ['{"of": {"grain": ["%s"]}}', '{"of": "%s", '])
def test_what_an_unknown_configuration_names_stays(text: str, tmp_path: Path) -> None:
    grain = Grain(work_folder=tmp_path)
    name = name_of(tmp_path, grain)
    own = tmp_path / "mine" / "cake"
    own.mkdir(parents=True)
    (own / "config.json").write_text(text % grain.digest, encoding="utf-8")

    plan = planned(Records(tmp_path), [name])

    assert list(plan.kept.values()) == ["mine/cake, which no recorded run knows, needs it"]


@pytest.mark.parametrize("fault", [errno.EACCES, errno.EXDEV])
def test_a_folder_goes_whole_or_not_at_all(
    fault: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grain = Grain(work_folder=tmp_path)
    name = name_of(tmp_path, grain)
    records, rename = Records(tmp_path), Path.rename

    def hindered(self: Path, target: Path) -> Path:
        if "runs" in target.parts and self.parent.parent == tmp_path:
            raise OSError(fault, "cannot be moved")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", hindered)
    if fault == errno.EXDEV:
        remove(records, planned(records, [name]))
        assert not grain.folder.parent.exists()
    else:
        with pytest.raises(OSError, match="cannot be moved"):
            remove(records, planned(records, [name]))
        assert grain.complete()
        assert records.named(name)
