"""The report's page: order, text of others, curves, papers' figures, marks."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from models.evaluation.scores import Outcome
from models.evaluation.task_registry import task_named
from models.evaluation.task_result import (
    AbsentResult,
    DataRecord,
    EncoderIdentity,
    Setup,
    result_path,
    scored,
    write_result,
)
from models.experiments.report_columns import published_columns
from models.report.evaluation_table import PublishedColumn
from models.report.probing_table import probing_table
from models.report.run.inputs import ReportInputs, StageRecord
from models.report.run.probing_sections import listed, statement
from models.report.run.report import write_report
from models.report.run.training_section import training_section
from models.report.significance import marks_of_table
from tests.support.evaluation_examples import answers
from tests.support.parsed_pages import parsed
from tests.support.report_examples import SUMMARY, report_inputs, row, usual_rows, with_rows

HOSTILE = "<script>alert(1)</script></svg>\x1b[2J\u202e & <b>bold</b> ]]> -->"
SHOWN = "<script>alert(1)</script></svg>\\x1b[2J\\u202e & <b>bold</b> ]]> -->"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of which every text that others choose is hostile."""
    folder = tmp_path_factory.mktemp("report")
    return write_report(folder / "out", hostile(report_inputs(folder), folder)).parent


def hostile(inputs: ReportInputs, folder: Path) -> ReportInputs:
    """Returns inputs of which every text that others choose is hostile."""
    return replace(
        with_rows(inputs, folder, usual_rows(0.8)),
        corpus=f"files ({HOSTILE})",
        command=f"treeviews run --paths '{HOSTILE}'",
        config={"paths": HOSTILE},
        machine=HOSTILE,
        title=HOSTILE,
        versions={HOSTILE: HOSTILE},
        parsers=({"kind": "dependencies", "name": HOSTILE, "scores": {HOSTILE: HOSTILE}},),
        stages=(StageRecord(HOSTILE, 1, 1.0, {HOSTILE: 1}, left_out={HOSTILE: 2}),),
    )


def test_what_others_wrote_shows_as_itself(out: Path) -> None:
    found = parsed((out / "report.html").read_text(encoding="utf-8"))

    assert found.named("script") == []
    assert found.named("b") == []
    for element, attributes in found.elements:
        assert not any(name.startswith("on") for name in attributes), element
    assert found.text.count(SHOWN) > 10
    assert "\x1b" not in found.text
    assert "\u202e" not in found.text
    for drawing in out.glob("*.svg"):
        assert "<script>" not in drawing.read_text(encoding="utf-8"), drawing.name


def test_the_page_says_first_what_came_out(out: Path) -> None:
    page = (out / "report.html").read_text(encoding="utf-8")
    text = parsed(page).text
    value = json.loads((out / "report.json").read_text())

    effect, verdict = value["headline"]
    assert effect.startswith("Training raises how often a held-out sentence picks its neighbour")
    assert "the trained model beats the same architecture" in verdict
    assert text.index(effect) < text.index(verdict) < text.index("What was run")
    titles = [
        "what-was-run", "from-documents-to-training", "training", "probing", "notes",
        "vectors-of-your-own-sentences", "configuration",
    ]  # fmt: skip
    places = [page.index(f'<section id="{title}"') for title in titles]
    assert places == sorted(places)


def test_curves_are_of_every_seed() -> None:
    metrics = [
        [
            {"kind": "held_out", "step": 0, "accuracy": 0.1, "chance": 0.01, "loss": 5.0},
            *({"kind": "train", "step": s, "loss": 6 - s / 9, "in_batch_accuracy": 0.1,
               "chance": 0.01, "learning_rate": 0.1 * s * (1 + seed)} for s in range(1, 20)),
            {"kind": "held_out", "step": 19, "accuracy": 0.2 + seed, "chance": 0.01, "loss": 4.0},
        ]
        for seed in range(2)
    ]  # fmt: skip
    trainings = [SUMMARY, {**SUMMARY, "seed": 1}]

    loss, accuracy = training_section(trainings, metrics).drawings

    assert "chance, 1 %" in accuracy.body
    for drawing in (loss, accuracy):
        assert ">seed 1</text>" in drawing.body


def test_marks_are_against_random_weights() -> None:
    marks = marks_of_table(probing_table(usual_rows(0.8)))

    assert marks.baseline == "random weights (3 seeds)"
    assert marks.of_task("pair", "tense") == "better"
    assert marks.of_average("pair") == "better"
    assert marks.of_task("random_weights_0", "tense") == ""


@pytest.mark.parametrize("seeds", [1, 2])
def test_the_headline_names_the_tasks_that_the_marks_name(tmp_path: Path, seeds: int) -> None:
    trained = [row(f"pair_seed_{n}" if n else "pair", 0.69, seed=1) for n in range(seeds)]
    rows = [*trained, row("random_weights_0", 0.6, seed=2)]
    better = ["sentence_length"]  # by far; tense lies outside its interval, uncorrected
    wide = [row(one.name, 0.9, seed=1) for one in trained]
    rows[:seeds] = [
        replace(one, results={**one.results, better[0]: far.results[better[0]]})
        for one, far in zip(trained, wide, strict=True)
    ]
    table = probing_table(rows)
    tasks = {name: {"sizes": {"test": 300}} for name in table.tasks}

    marks = marks_of_table(table)

    said = statement(table, {"tasks": tasks, "absent": {}}, marks)

    key = "pair" if seeds == 1 else "trained"
    for way in ("better", "worse"):
        marked = [name for name in table.tasks if marks.of_task(key, name) == way]
        assert f"{way} on {listed(marked)}" in said


def test_without_random_weights_there_are_no_marks() -> None:
    alone = marks_of_table(probing_table([row("pair", 0.9)]))
    assert (alone.baseline, alone.note, alone.of_task("pair", "tense")) == ("", "", "")


def test_papers_figures_stand_beside_ours(tmp_path: Path) -> None:
    task = task_named("MR")
    predictions = answers(100, 0.7)
    outcome = Outcome(predictions, {"test": 100}, 8, 70.0)
    setup = Setup(EncoderIdentity("lengths", "d0"), {}, {"classifier": "logistic_regression"})
    found = scored(task, setup, DataRecord("d1", "s1"), outcome, seconds={})
    write_result(result_path(tmp_path / "mine", task), found)
    absent = AbsentResult(task_named("CR"), setup, "no such file")
    write_result(result_path(tmp_path / "mine", absent.task), absent)
    given = replace(
        with_rows(report_inputs(tmp_path), tmp_path, [row("pair", 0.8)]),
        senteval=(tmp_path / "mine",),
        published=(
            PublishedColumn(
                "A's", "A, table 1, of books", {("MR", "accuracy"): 80.7, ("CR", "accuracy"): 83.6}
            ),
        ),
    )

    text = write_report(tmp_path / "out", given).with_name("report.md").read_text()

    section = text.split("## Published beside measured")[1].split("\n## ")[0]
    assert "| task | score | lengths | A's |" in section
    assert " | 80.7 |" in section
    assert "| CR |  | absent | 83.6 |" in section
    assert "A's: A, table 1, of books." in section
    page = (tmp_path / "out" / "report.html").read_text().split('<section id="published-beside')[1]
    assert "table 1, of books" in page.split("<details")[0]  # paper shows it in every browser


def test_a_pair_of_views_has_its_figures_in_any_order() -> None:
    (ours,) = published_columns(["SEQ", "CONST"])
    (turned,) = published_columns(["CONST", "SEQ"])
    (best,) = published_columns(["BOW"])
    assert ours == turned
    assert ours.figures["MR", "accuracy"] == 79.8
    assert best.title == "DEP,CONST, published"
    assert best.figures["avg7", ""] == 86.0
    assert ("SICK-R", "mse") not in best.figures


def test_a_pair_of_the_second_table_has_its_average_alone() -> None:
    (found,) = published_columns(["SEQ", "SEQ"])
    assert found.title == "SEQ,SEQ, published"
    assert found.figures == {("avg7", ""): 84.9}
