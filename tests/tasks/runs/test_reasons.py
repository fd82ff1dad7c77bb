"""Why stages would run: against the nearest finished one, told once and where it lies."""

from __future__ import annotations

import shutil
from pathlib import Path

import luigi

from pipeline.shards.schema import SCHEMA_VERSION
from tasks import SplitSentences, TableOfCorpusChoice, TrainEncoders
from tasks.runs.made import Made
from tasks.runs.why.difference_words import DifferenceWords
from tasks.runs.why.reasons import reasons_of
from tasks.runs.why.reasons_text import reasons_lines
from tests.support.luigi_builds import build
from tests.support.small_stages import Meal


def told(root: luigi.Task) -> dict[str, str]:
    stages, reasons = reasons_of(root)
    names = {stage.id: stage.name for stage in stages}
    return {
        f"{reason.name} {reason.about}".strip(): "; ".join(
            [*reason.sentences, *(f"because {names[one]}" for one in reason.because)]
        )
        for reason in reasons
    }


def test_nothing_is_said_of_what_is_there(tmp_path: Path) -> None:
    build(Meal(work_folder=tmp_path))

    assert told(Meal(work_folder=tmp_path)) == {}


def test_what_was_never_made_says_so(tmp_path: Path) -> None:
    reasons = told(Meal(work_folder=tmp_path))

    assert set(reasons.values()) == {"never made in this work folder"}


def test_a_changed_parameter_is_told_as_its_option(tmp_path: Path) -> None:
    build(Meal(work_folder=tmp_path))

    assert told(Meal(work_folder=tmp_path, salt=3.0)) == {"Bread": "--salt: 2.0 → 3.0"}


def test_a_change_upstream_is_told_there_and_followed_below(tmp_path: Path) -> None:
    build(Meal(work_folder=tmp_path))

    assert told(Meal(work_folder=tmp_path, coarse=True)) == {
        "Grain kind rye": "--coarse: no → yes",
        "Bread": "because Grain",
    }


def test_of_several_the_nearest_is_compared_with(tmp_path: Path) -> None:
    build(Meal(work_folder=tmp_path, salt=1.0))
    build(Meal(work_folder=tmp_path, salt=5.0, coarse=True))

    assert told(Meal(work_folder=tmp_path, salt=5.0)) == {
        "Bread": "made from another Grain: --coarse: yes → no"
    }


def test_what_others_were_made_from_is_known_to_be_deleted(tmp_path: Path) -> None:
    meal = Meal(work_folder=tmp_path)
    build(meal)
    rye = meal.requires().requires()["grains"][0]
    shutil.rmtree(rye.folder)
    (meal.requires().folder / "manifest.json").unlink()

    reasons = told(Meal(work_folder=tmp_path))

    assert reasons["Grain kind rye"].startswith("it was made once and is deleted: bread/loaf-")
    assert reasons["Bread"] == "begun and not finished: 0 of 4 parts are there"


def test_a_real_stage_says_its_options_and_its_text(tmp_path: Path) -> None:
    text = tmp_path / "story.txt"
    text.write_text("The rain stopped. The children ran out.\n", encoding="utf-8")
    asked = {"work_folder": tmp_path / "work", "source": "files", "paths": str(text)}
    build(SplitSentences(**asked))

    assert told(SplitSentences(**asked, limit=1)) == {"SplitSentences": "--limit: none → 1"}
    assert told(SplitSentences(**asked, max_tokens=7)) == {
        "SplitSentences": "--max-tokens: 100 → 7"
    }
    other = SplitSentences(work_folder=tmp_path / "work", limit=1)
    assert "--source: files → python-docs" in told(other)["SplitSentences"]


def test_the_width_of_a_table_is_told_as_the_option_that_was_given(tmp_path: Path) -> None:
    table = TableOfCorpusChoice(work_folder=tmp_path, width=24)
    training = TrainEncoders(work_folder=tmp_path, changes={"hidden_size": 24})
    config = {"training": {"hidden_size": 16}}
    before = Made(tmp_path, "TrainEncoders", "0" * 12, SCHEMA_VERSION, config, True, 0.0)
    after = {"training": {"hidden_size": 24}}

    of_table = DifferenceWords(training, {}, {}, (), {}, asked=table).told(before, after)
    of_training = DifferenceWords(training, {}, {}, (), {}, asked=training).told(before, after)

    assert of_table.sentences == ("--width: 16 → 24",)
    assert of_training.sentences == ("hidden_size (--changes): 16 → 24",)


def test_another_text_is_told_by_its_checksum(tmp_path: Path) -> None:
    text = tmp_path / "story.txt"
    text.write_text("The rain stopped. The children ran out.\n", encoding="utf-8")
    asked = {"work_folder": tmp_path / "work", "source": "files", "paths": str(text)}
    build(SplitSentences(**asked))
    luigi.task_register.Register.clear_instance_cache()
    text.write_text("The rain stopped. The children came in.\n", encoding="utf-8")

    assert told(SplitSentences(**asked))["SplitSentences"].startswith("the text differs: sha256 ")


def test_stages_with_the_same_reason_are_told_together(tmp_path: Path) -> None:
    lines = reasons_lines(*reasons_of(Meal(work_folder=tmp_path)))

    assert lines == [
        "Grain (kind rye; kind wheat)",
        "  never made in this work folder",
        "Bread",
        "  never made in this work folder",
        "",
        "would run: Grain (2), Bread",
    ]
