"""The list of runs, and what two of them differ in."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from models.evaluation.task_result import EncoderIdentity, write_result
from tasks import SplitSentences
from tasks.runs.recorded import run_list
from tasks.runs.recorded.difference_text import difference_lines
from tasks.runs.recorded.run_difference import difference_of
from tasks.runs.recorded.run_list import ListedRun, list_lines, listed, show_lines
from tasks.runs.records import (
    Attempt,
    Record,
    RecordedFailure,
    RecordedScore,
    RecordedStage,
    Records,
)
from tests.support.evaluation_examples import answers, result, task
from tests.support.small_stages import Meal
from tests.tasks.runs.test_recording import run


def scored(
    work: Path, digest: str, share: float, of: str = "MR", data: str = "d0", **asked: Any
) -> RecordedStage:
    """Returns a stage that scored an encoder of a digest on a task, and its result."""
    folder = f"evaluation/results/trained-{of}-{digest}"
    encoder = EncoderIdentity("DEP, trained", digest)
    made = result(answers(60, share), task(of), encoder=encoder, data_digest=data)
    write_result(work / folder / f"{of}.json", made)
    return RecordedStage(
        id=f"EvaluateTask-{digest}-{of}",
        name="EvaluateTask",
        about="",
        digest=digest,
        parameters=asked,
        folders=(folder,),
        needs=(),
    )


def scored_run(records: Records, name: str, digest: str, share: float, data: str = "d0") -> None:
    """Records a run that scored a trained encoder on a task."""
    stage = scored(records.work_folder, digest, share, data=data)
    run_of(records, name, digest, stage)


def run_of(
    records: Records, name: str, digest: str, *stages: RecordedStage, **parameters: Any
) -> None:
    """Records a run of stages."""
    attempt = Attempt(id="1", began="2026-11-24T10:00:00+00:00", host="h", process=1, command="c")
    records.folder.mkdir(exist_ok=True)
    records.write(
        Record(
            name=name,
            digest=digest,
            stage="EvaluateTask",
            parameters=parameters,
            stages=stages,
            attempts=(attempt,),
        )
    )


def test_bytes_are_own_or_shared(tmp_path: Path) -> None:
    run(Meal(work_folder=tmp_path))
    (alone,) = listed(Records(tmp_path))
    run(Meal(work_folder=tmp_path, salt=3.0))
    first, second = listed(Records(tmp_path))

    assert alone.shared_bytes == 0
    assert first.own_bytes + first.shared_bytes == alone.own_bytes
    assert first.shared_bytes == second.shared_bytes > 0


def test_a_run_whose_result_is_deleted_is_gone(tmp_path: Path) -> None:
    meal = Meal(work_folder=tmp_path)
    run(meal)
    shutil.rmtree(meal.requires().folder)

    (found,) = listed(Records(tmp_path))

    assert found.state == "gone"


def test_the_list_has_a_line_a_run_with_what_differs(tmp_path: Path) -> None:
    run(Meal(work_folder=tmp_path, salt=3.0))
    (found,) = listed(Records(tmp_path))

    header, line = list_lines([found])
    assert header.split()[:4] == ["name", "state", "when", "took"]
    assert line.startswith(f"{found.record.name}  done")
    assert line.endswith("Meal --salt 3.0")
    assert any("--salt 3.0" in shown for shown in show_lines(found))


def test_two_runs_differ_in_options_stages_and_data(tmp_path: Path) -> None:
    text = tmp_path / "story.txt"
    text.write_text("The rain stopped. The children ran out. They sang.\n", encoding="utf-8")
    asked = {"work_folder": tmp_path / "work", "source": "files", "paths": str(text)}
    run(SplitSentences(**asked))
    run(SplitSentences(**asked, limit=1))
    records = Records(tmp_path / "work")
    names = {len(record.parameters): record.name for record in records}

    found = difference_of(records, names[2], names[3])

    assert found.parameters == {"--limit": ("default", "1")}
    assert found.stages == {"SplitSentences": ("--limit: none → 1",)}
    assert found.data["SplitSentences, sentences"] == ("3", "1")
    assert "\n".join(difference_lines(found)).count("--limit") == 1


def test_results_on_the_same_items_are_compared_item_by_item(tmp_path: Path) -> None:
    records = Records(tmp_path)
    scored_run(records, "first-one", "aaaaaaaaaaaa", 0.9)
    scored_run(records, "second-one", "bbbbbbbbbbbb", 0.5)

    (compared,) = difference_of(records, "first-one", "second-one").results

    assert compared.encoder == "trained"
    assert compared.comparison is not None
    assert compared.comparison.tasks[0].difference.value == pytest.approx(40.0)


def test_results_on_other_items_stand_side_by_side(tmp_path: Path) -> None:
    records = Records(tmp_path)
    scored_run(records, "first-one", "aaaaaaaaaaaa", 0.9)
    scored_run(records, "second-one", "bbbbbbbbbbbb", 0.5, data="d1")

    found = difference_of(records, "first-one", "second-one")

    assert found.results[0].comparison is None
    lines = "\n".join(difference_lines(found))
    assert "scored on other items" in lines
    assert "90.0 [" in lines


def test_compared_encoders_bear_the_names_of_the_runs(tmp_path: Path) -> None:
    records = Records(tmp_path)
    scored_run(records, "first-one", "aaaaaaaaaaaa", 0.9)
    scored_run(records, "second-one", "bbbbbbbbbbbb", 0.5)

    lines = difference_lines(difference_of(records, "first-one", "second-one"))

    assert any("DEP, trained, first-one | DEP, trained, second-one" in line for line in lines)


def listed_with(tmp_path: Path, *asked: dict[str, Any]) -> list[ListedRun]:
    """Returns runs of one stage that were asked for with these parameters."""
    records = Records(tmp_path)
    for place, parameters in enumerate(asked):
        stage = scored(tmp_path, 12 * "abc"[place], 0.5)
        run_of(records, f"run-{place}", 12 * "abc"[place], stage, **parameters)
    return listed(records)


def test_options_that_differ_stand_first_and_are_never_cut(tmp_path: Path) -> None:
    common = {"changes": {"epochs": 1, "hidden_size": 16}, "limit": 3000}
    long = "of every sentence that I ever wrote down in one of my notebooks, the one "
    queries = [[f"{long}with rain"], [f"{long}with snow"]]
    runs = listed_with(tmp_path, *({**common, "queries": one} for one in queries), common)

    for width in (None, 80, 160):
        lines = list_lines(runs, width)
        shown = " ".join(" ".join(lines).split())
        assert f"EvaluateTask --queries {queries[0][0]}" in shown
        assert f"EvaluateTask --queries {queries[1][0]}" in shown
        assert "EvaluateTask --changes" in shown
        assert width is None or max(map(len, lines)) <= width


def test_a_value_is_cut_where_that_tells_it_apart(tmp_path: Path) -> None:
    rest = "and so on " * 30
    first, second = list_lines(
        listed_with(tmp_path, {"paths": f"a {rest}"}, {"paths": f"b {rest}"}), None
    )[1:]

    assert "--paths a and so on" in first
    assert "--paths b and so on" in second
    assert max(len(first), len(second)) < 200


def test_values_that_read_the_same_are_told_as_json(tmp_path: Path) -> None:
    lines = list_lines(listed_with(tmp_path, {"queries": ["a,b"]}, {"queries": ["a", "b"]}))

    assert [line.partition("--queries ")[2] for line in lines[1:]] == ['["a,b"]', '["a", "b"]']


def test_runs_with_the_same_options_are_told_to_be_such(tmp_path: Path) -> None:
    lines = list_lines(listed_with(tmp_path, {"limit": 3}, {"limit": 3}))

    assert all("options as those of another run" in line for line in lines[1:])


def test_scores_of_a_table_are_brief_in_the_list_and_whole_in_what_is_shown(
    tmp_path: Path,
) -> None:
    (found,) = listed_with(tmp_path, {})
    names = "SentLen of B-G, ensemble, best of 6 rows", "SentLen of word vectors, the baseline"
    scores = tuple(RecordedScore(name, value) for name, value in zip(names, (34, 24), strict=True))
    found = replace(found, record=replace(found.record, scores=scores))

    assert any("  SentLen 34.0, baseline 24.0  " in line for line in list_lines([found]))
    assert any(f"{names[0]} 34.0, {names[1]} 24.0" in line for line in show_lines(found))


def test_a_run_that_is_not_done_is_told_beside_the_other(tmp_path: Path) -> None:
    records = Records(tmp_path)
    scored_run(records, "first-one", "aaaaaaaaaaaa", 0.9)
    scored_run(records, "second-one", "bbbbbbbbbbbb", 0.5)
    second = records.named("second-one")
    failure = RecordedFailure("TrainEncoders", "too few sentences")
    ended = [
        replace(records.named("first-one").last, outcome="done", seconds=1.0),
        replace(second.last, outcome="failed", seconds=2.0, failures=(failure,)),
    ]
    records.write(replace(records.named("first-one"), attempts=(ended[0],)))
    records.write(replace(second, attempts=(replace(ended[0], id="0"), ended[1])))

    lines = difference_lines(difference_of(records, "first-one", "second-one"))

    assert lines[0] == (
        "second-one: failed (TrainEncoders: too few sentences); what is not there is not compared"
    )
    (_, found) = listed(records)
    (took,) = (line for line in show_lines(found) if line.startswith("took"))
    assert took.split()[1:] == ["3", "s", "in", "all", "2", "attempts"]


def test_a_run_is_not_compared_with_itself(tmp_path: Path) -> None:
    run(Meal(work_folder=tmp_path))
    records = Records(tmp_path)
    (name,) = (record.name for record in records)

    with pytest.raises(ValueError, match="the same run; name two"):
        difference_of(records, name, name)


def test_of_one_run_only_its_own_folders_are_sized(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(Meal(work_folder=tmp_path))
    (alone,) = listed(Records(tmp_path))
    run(Meal(work_folder=tmp_path, salt=3.0))
    sized: list[Path] = []
    monkeypatch.setattr(run_list, "bytes_below", lambda path: sized.append(path) or 1)

    (found,) = listed(Records(tmp_path), alone.record.name)

    assert found.record == alone.record
    assert {path.relative_to(tmp_path).as_posix() for path in sized} == {*alone.record.folders}
    assert found.shared_bytes == 2  # both sorts of grain


def test_seeds_are_those_that_differ_in_the_seed_alone(tmp_path: Path) -> None:
    records = Records(tmp_path)
    for name, mark, share in (("first-one", "a", 0.9), ("second-one", "b", 0.5)):
        texts = {"c": {}, "d": {"paths": "other.txt"}}
        stages = [
            scored(tmp_path, 6 * f"{mark}{text}{seed}", share, encoder=encoder, **asked)
            for text, asked in texts.items()
            for seed, encoder in enumerate(("trained", "trained-1"))
        ]
        run_of(records, name, 12 * mark, *stages)

    found = difference_of(records, "first-one", "second-one").results

    assert [one.encoder for one in found] == [
        "trained (paths default)",
        "trained (paths other.txt)",
    ]
    for one in found:
        assert one.comparison is not None
        assert len(one.comparison.first) == len(one.comparison.second) == 2


def test_tasks_of_one_encoder_are_together_and_none_makes_a_seed(tmp_path: Path) -> None:
    records = Records(tmp_path)
    for name, mark, share in (("first-one", "a", 0.9), ("second-one", "b", 0.5)):
        stages = [
            scored(tmp_path, 12 * mark, share, "TreeDepth", derived=True),
            scored(tmp_path, 12 * mark, share, "SentLen", derived=True),
            scored(tmp_path, 12 * mark, share, "MR", senteval_data="elsewhere"),
            scored(tmp_path, 6 * f"{mark}1", share, "TreeDepth", derived=True, encoder="trained-1"),
            scored(tmp_path, 6 * f"{mark}1", share, "SentLen", derived=True, encoder="trained-1"),
        ]
        run_of(records, name, 12 * mark, *stages, replace(stages[0], id="again"))

    found = difference_of(records, "first-one", "second-one").results

    compared = [one.comparison for one in found if one.comparison is not None]
    tasks = {tuple(sorted(row.task for row in one.tasks)): len(one.first) for one in compared}
    assert tasks == {("SentLen", "TreeDepth"): 2, ("MR",): 1}


def test_what_differs_between_the_runs_alone_is_compared_and_what_is_alone_is_told(
    tmp_path: Path,
) -> None:
    records = Records(tmp_path)
    for name, mark, rate, sizes in (
        ("first-one", "a", 0.1, (16, 32)),
        ("second-one", "b", 0.2, (32, 64)),
    ):
        stages = [
            scored(
                tmp_path,
                4 * f"{mark}{size}",
                0.5 + rate,
                changes={"hidden_size": size, "learning_rate": rate},
            )
            for size in sizes
        ]
        run_of(records, name, 12 * mark, *stages)

    found = difference_of(records, "first-one", "second-one")

    assert [one.encoder for one in found.results] == ["trained (hidden size 32)"]
    assert found.left_out == (
        "trained (hidden size 16): second-one has no counterpart",
        "trained (hidden size 64): first-one has no counterpart",
    )
    assert "  left out: trained (hidden size 16)" in "\n".join(difference_lines(found))
