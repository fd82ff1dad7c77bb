"""Records of runs: begun, ended, repeated, and never in a run's way."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import luigi
import pytest

from tasks.failures import Failure, forget_failures, remember_failure, told_failures
from tasks.runs.recording import recorded
from tasks.runs.records import MOST_ATTEMPTS, Record, Records
from tests.support.luigi_builds import build
from tests.support.small_stages import Grain, Meal

DONE = SimpleNamespace(
    status=luigi.LuigiStatusCode.SUCCESS, worker=SimpleNamespace(add_succeeded=True)
)
FAILED = SimpleNamespace(
    status=luigi.LuigiStatusCode.FAILED, worker=SimpleNamespace(add_succeeded=True)
)
UNSCHEDULED = SimpleNamespace(
    status=luigi.LuigiStatusCode.SCHEDULING_FAILED, worker=SimpleNamespace(add_succeeded=False)
)


def run(task: luigi.Task, result: Any = DONE) -> None:
    with recorded(task) as tell:
        build(task)
        tell(result)


def the_record(work: Path) -> Record:
    (record,) = Records(work)
    return record


def test_a_run_that_is_on_is_recorded_as_unfinished_and_at_work(tmp_path: Path) -> None:
    meal = Meal(work_folder=tmp_path, salt=3.0)

    with recorded(meal):
        record = the_record(tmp_path)
        assert record.last.outcome == "unfinished"
        assert Records(tmp_path).is_at_work(record.digest)
        assert record.parameters == {"salt": 3.0}
        assert [stage.name for stage in record.stages] == ["Grain", "Grain", "Bread", "Meal"]
        assert meal.requires().folder.relative_to(tmp_path).as_posix() in record.folders

    assert not Records(tmp_path).is_at_work(record.digest)


def test_a_run_that_ends_says_so(tmp_path: Path) -> None:
    meal = Meal(work_folder=tmp_path)

    run(meal)

    record = the_record(tmp_path)
    assert record.last.outcome == "done"
    assert record.last.ended
    assert record.result == meal.requires().folder.relative_to(tmp_path).as_posix()


def test_the_same_command_is_the_same_run_with_one_more_attempt(tmp_path: Path) -> None:
    for _ in range(MOST_ATTEMPTS + 2):
        with recorded(Meal(work_folder=tmp_path)) as tell:
            tell(DONE)

    record = the_record(tmp_path)
    assert len(record.attempts) == MOST_ATTEMPTS
    assert record.earlier_attempts == 2


def test_another_parameter_is_another_run(tmp_path: Path) -> None:
    run(Meal(work_folder=tmp_path))
    run(Meal(work_folder=tmp_path, salt=3.0))

    assert len({record.name for record in Records(tmp_path)}) == 2


def test_a_first_run_that_is_refused_leaves_another_one_at_work(tmp_path: Path) -> None:
    work = tmp_path / "work"
    other = Grain(work_folder=work)

    with recorded(Meal(work_folder=work)) as tell, recorded(other):
        tell(UNSCHEDULED)
        with pytest.raises(SystemExit), recorded(Grain(work_folder=work, kind="wheat")):
            raise SystemExit(2)
        records = Records(work)
        assert [records.is_at_work(record.digest) for record in records] == [True, True]


def test_a_run_that_is_refused_beside_another_keeps_the_locks(tmp_path: Path) -> None:
    work = tmp_path / "work"
    with ExitStack() as other:
        with pytest.raises(SystemExit), recorded(Meal(work_folder=work)):
            other.enter_context(recorded(Grain(work_folder=work)))
            raise SystemExit(2)
        (record,) = Records(work)
        assert Records(work).is_at_work(record.digest)


def test_a_failure_is_kept_with_its_stage_and_sentence(tmp_path: Path) -> None:
    meal = Meal(work_folder=tmp_path)
    forget_failures()
    folder = meal.requires().folder
    with recorded(meal) as tell:
        remember_failure(Failure("Bread", "it burnt", False, None, folder))
        tell(FAILED)
    forget_failures()

    (failure,) = the_record(tmp_path).last.failures
    assert (failure.stage, failure.sentence) == ("Bread", "it burnt")
    assert Records(tmp_path).failed_folders() == {folder: "it burnt"}


def test_all_that_failed_by_one_sentence_is_recorded_and_told_once(tmp_path: Path) -> None:
    meal = Meal(work_folder=tmp_path)
    grains = [grain.folder for grain in meal.requires().requires()["grains"][:2]]
    forget_failures()

    with recorded(meal) as tell:
        for folder in grains:
            remember_failure(Failure("Grain", "it is mouldy", True, None, folder))
        tell(FAILED)

    assert set(Records(tmp_path).failed_folders()) == set(grains)
    assert told_failures() == ["it is mouldy"]


def test_what_is_asked_for_again_has_not_failed(tmp_path: Path) -> None:
    test_a_failure_is_kept_with_its_stage_and_sentence(tmp_path)

    run(Meal(work_folder=tmp_path))

    assert Records(tmp_path).failed_folders() == {}


def test_an_interruption_is_told_from_a_failure(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), recorded(Meal(work_folder=tmp_path)):
        raise KeyboardInterrupt

    assert the_record(tmp_path).last.outcome == "interrupted"


def test_what_could_not_be_scheduled_leaves_nothing(tmp_path: Path) -> None:
    work = tmp_path / "data" / "work"

    with recorded(Meal(work_folder=work)) as tell:
        tell(UNSCHEDULED)

    assert list(tmp_path.iterdir()) == []


def test_where_nothing_can_be_written_the_run_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "runs").write_text("no folder", encoding="utf-8")
    meal = Meal(work_folder=tmp_path)

    with caplog.at_level("WARNING", logger="luigi-interface"):
        run(meal)

    assert meal.complete()


def test_a_task_that_cannot_be_asked_for_is_left_to_luigi(tmp_path: Path) -> None:
    class Broken(Grain):
        def requires(self) -> luigi.Task:
            raise ValueError("no such grain")

    with recorded(Broken(work_folder=tmp_path)) as tell:
        tell(UNSCHEDULED)

    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_taken_is_not_taken_again(tmp_path: Path) -> None:
    records = Records(tmp_path)
    run(Meal(work_folder=tmp_path))
    record = the_record(tmp_path)

    records.write(replace(record, digest="abcdef012345"))  # another run bears the name

    assert records.free_name(record.digest) != record.name


def test_a_renamed_run_stays_the_same_run(tmp_path: Path) -> None:
    run(Meal(work_folder=tmp_path))
    Records(tmp_path).rename(the_record(tmp_path).name, "breakfast")

    run(Meal(work_folder=tmp_path))

    assert the_record(tmp_path).name == "breakfast"
    assert len(the_record(tmp_path).attempts) == 2


def test_a_damaged_record_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    run(Meal(work_folder=tmp_path))
    run(Meal(work_folder=tmp_path, salt=3.0))
    records = Records(tmp_path)
    first, second = records.paths()
    first.write_text('{"name": ', encoding="utf-8")

    assert [record.name for record in records] == [second.stem]
    assert "not JSON" in records.damaged[first]


def test_an_edited_record_is_damaged(tmp_path: Path) -> None:
    run(Meal(work_folder=tmp_path))
    records = Records(tmp_path)
    (path,) = records.paths()
    value = json.loads(path.read_text(encoding="utf-8"))
    value["stages"][0]["folders"] = ["../../elsewhere"]
    path.write_text(json.dumps(value), encoding="utf-8")

    assert list(records) == []
    assert "changed after it was written" in records.damaged[path]


def test_an_unknown_name_says_what_was_meant(tmp_path: Path) -> None:
    run(Meal(work_folder=tmp_path))
    records = Records(tmp_path)
    name = the_record(tmp_path).name

    with pytest.raises(ValueError, match=f"did you mean {name}"):
        records.named(name[:-1])


def test_attempts_are_in_the_order_of_their_moments_whatever_the_zone(tmp_path: Path) -> None:
    run(Meal(work_folder=tmp_path))
    record = the_record(tmp_path)
    far = replace(record.last, id="far", began="2026-11-24T18:00:00.000+09:00")
    later = replace(record.last, id="later", began="2026-11-24T10:00:00.000+00:00")

    ordered = replace(record, attempts=(far,)).with_attempt(later)

    assert [one.id for one in ordered.attempts] == ["far", "later"]
    assert record.last.began.endswith("+00:00")


def test_runs_are_in_the_order_of_their_moments(tmp_path: Path) -> None:
    records = Records(tmp_path)
    for salt, began in ((3.0, "2026-11-24T10:00:00+00:00"), (4.0, "2026-11-24T18:00:00+09:00")):
        run(Meal(work_folder=tmp_path, salt=salt))
        (record,) = (one for one in records if one.parameters == {"salt": salt})
        records.write(replace(record, attempts=(replace(record.last, began=began),)))

    assert [record.parameters["salt"] for record in records] == [4.0, 3.0]
