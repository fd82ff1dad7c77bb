"""The report of a run, from results made by hand: its rows and verdict, its page, its files."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.evaluation_examples import answers
from tests.support.report_examples import (
    HELD_OUT,
    SUMMARY,
    report_inputs,
    usual_rows,
    with_rows,
)
from treeviews.models.encoding.encoder_names import READY
from treeviews.models.evaluation.scores import Outcome
from treeviews.models.evaluation.task_registry import task_named
from treeviews.models.evaluation.task_result import (
    DataRecord,
    EncoderIdentity,
    Setup,
    result_path,
    scored,
    write_result,
)
from treeviews.models.report.probing_section import statement
from treeviews.models.report.probing_table import (
    AVERAGE,
    ProbingTable,
    declare_rows,
)
from treeviews.models.report.run_report import ReportInputs, write_report
from treeviews.pipeline.base.bundled import BUNDLED_MODELS


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> tuple[ReportInputs, Path]:
    """A report of the usual rows: what it was made of, and where it is."""
    folder = tmp_path_factory.mktemp("report")
    given = with_rows(report_inputs(folder), folder, usual_rows(0.8))
    write_report(folder / "out", given)
    return given, folder / "out"


@pytest.fixture
def inputs(tmp_path: Path) -> ReportInputs:
    return report_inputs(tmp_path)


def written(out: Path, inputs: ReportInputs) -> str:
    """Returns the report as Markdown."""
    return write_report(out, inputs).with_name("report.md").read_text()


def test_report_states_what_a_reader_looks_for(usual: tuple[ReportInputs, Path]) -> None:
    inputs, out = usual
    text = (out / "report.md").read_text()
    for expected in (
        "**Training raises how often a held-out sentence picks its neighbour from the batch: "
        "from 0.3 to 6.0 %, +5.7 [+4.1, +7.3] points (chance 0.2 %; 900 sentences that",
        "the trained model beats the same architecture with random weights: ",
        "| row pair | 8 | 80.0 ▲ [75.3, 84.3] | 80.0 ▲ [75.3, 84.3] | 80.0 ▲ [",
        "mean ± sd over 3 seeds | 8 | 62.0 ± 2.0 | 62.0 ± 2.0 | 62.0 ± 2.0 |",
        "- object_number: only 7 train sentences",
        "treeviews encode english-trees < sentences.txt > vectors.npy\n"
        f"treeviews encode {inputs.training_folders[0]} < sentences.txt",
        "| sentences | too long 7 | no parse 9 | 12,000 | 20.0 | 600 |",
        "## What was run\n\n- Text: harbour diaries.",
        "Command:\n\n```sh\nluigi RunAll --seed 5\n```",
        "(curves.svg)",
        "| sentence length | a rule | document | 100 documents | 2 | 600 / 100 / 300 | 50.0 |",
        "| pair and bag of words − random and bag of words | +10.0 | +10.0 | +10.0 [",
        "One training seed was run",
    ):
        assert expected in text, expected


def test_all_files_are_there_and_the_same_when_written_again(
    usual: tuple[ReportInputs, Path], tmp_path: Path
) -> None:
    given, out = usual
    write_report(tmp_path, given)
    names = sorted(path.name for path in out.iterdir())
    assert names == ["curves.svg", "report.html", "report.json", "report.md"]
    for name in names:
        assert (out / name).read_bytes() == (tmp_path / name).read_bytes(), name


def test_json_holds_the_figures_without_single_answers(usual: tuple[ReportInputs, Path]) -> None:
    value = json.loads((usual[1] / "report.json").read_text())
    assert value["effect_of_training"]["difference"]["value"] == pytest.approx(5.7)
    assert value["rows"][0]["result"]["tasks"]["tense"]["accuracy"]["value"] == 80.0
    assert value["rows"][0]["result"]["tasks"]["tense"]["not_converged"] == 0
    assert value["marks"]["rows"]["pair"]["tense"] == "better"
    assert "predictions" not in json.dumps(value)


def test_several_training_seeds_are_averaged_and_their_spread_is_shown(
    inputs: ReportInputs, tmp_path: Path
) -> None:
    folder = tmp_path / "seed-1"
    folder.mkdir()
    held_out = {**SUMMARY["held_out"], "final": {**HELD_OUT, "accuracy": 0.05}}
    (folder / "summary.json").write_text(json.dumps({**SUMMARY, "seed": 1, "held_out": held_out}))
    shutil.copy(inputs.training_folders[0] / "metrics.jsonl", folder)
    given = replace(
        with_rows(inputs, tmp_path, usual_rows(0.8, 0.7, 0.72)),
        training_folders=(*inputs.training_folders, folder),
    )
    text = written(tmp_path / "out", given)
    for expected in (
        "from 0.3 to 5.5 %, +5.2 [+3.6, +6.8] points (mean over 2 training seeds; chance",
        "random weights (mean over 3 training seeds): +12.0 [",
        "| trained, mean ± sd over 3 seeds | 8 | 74.0 ± 5.3 ▲ | 74.0 ± 5.3 ▲ | 74.0 ± 5.3 ▲ |",
        "| trained, seed 1 | 5.00 |",
    ):
        assert expected in text, expected
    assert "One training seed was run" not in text


def test_scores_of_sentevals_tasks_are_a_section(tmp_path: Path) -> None:
    task = task_named("MR")
    outcome = Outcome(answers(100, 0.7), {"test": 100}, 8, 70.0)
    setup = Setup(EncoderIdentity("lengths", "d0"), {}, {"classifier": "logistic_regression"})
    made = scored(task, setup, DataRecord("d1", "s1"), outcome, seconds={})
    write_result(result_path(tmp_path / "mine", task), made)
    given = replace(
        with_rows(report_inputs(tmp_path), tmp_path, usual_rows(0.8)),
        senteval=(tmp_path / "mine",),
    )

    text = written(tmp_path / "out", given)

    section = text.split("## SentEval")[1].split("\n## ")[0]
    assert "| MR | accuracy | 70.0 [" in section


def test_an_unfinished_training_is_refused(inputs: ReportInputs, tmp_path: Path) -> None:
    (inputs.training_folders[0] / "summary.json").unlink()
    with pytest.raises(FileNotFoundError, match="this training is not complete"):
        write_report(tmp_path / "out", inputs)
    assert not (tmp_path / "out" / "report.json").exists()


# The probing table.


def test_rows_are_those_that_must_stand_beside_a_trained_pair() -> None:
    rows = {row.name: row for row in declare_rows(("DEP", "CONST"), embedding_width=40)}
    assert list(rows) == [
        "pair", "view_0-DEP", "view_1-CONST", "random_weights_0", "random_weights_1",
        "random_weights_2", "bag_of_words", "bag_of_words_projected", "sif", *BUNDLED_MODELS,
        "pair_and_bag_of_words", "random_and_bag_of_words",
    ]  # fmt: skip
    assert rows["pair_and_bag_of_words"].representation == {"join_words": True}
    assert rows["bag_of_words_projected"].representation == {"project_to_width": 40}
    assert rows["view_1-CONST"].representation == {"views": ["1-CONST"]}
    assert set(READY) <= {row.encoder for row in rows.values()}
    for name, one in rows.items():
        if name.startswith(("random", *READY)):
            assert not one.encoder.startswith("trained"), name


@pytest.mark.parametrize(
    ("share", "verdict"),
    [
        (0.8, "A beats B"),
        (0.62, "there is no significant difference between A and B"),
        (0.4, "A is worse than B"),
    ],
)
def test_the_verdict_follows_the_figures(share: float, verdict: str) -> None:
    table = ProbingTable(tuple(usual_rows(share)))
    assert table.comparisons[0].verdict("A", "B") == verdict


@pytest.mark.parametrize(
    ("test_size", "num_absent", "expected"),
    [
        (300, 6, "Only 2 of 8 tasks could be built, 600 test items: too little for a verdict."),
        (200, 0, "All 2 tasks could be built, 400 test items: too little for a verdict."),
        (250, 2, "the trained model beats the same architecture"),
    ],
)
def test_no_verdict_is_given_on_too_little(test_size: int, num_absent: int, expected: str) -> None:
    table = ProbingTable(tuple(usual_rows(0.8)))
    tasks = {name: {"sizes": {"test": test_size}} for name in table.tasks}
    absent = {f"task {number}": "too few" for number in range(num_absent)}
    assert expected in statement(table, {"tasks": tasks, "absent": absent})


def test_signs_are_against_random_weights() -> None:
    table = ProbingTable(tuple(usual_rows(0.8)))
    assert table.baseline == "random weights (3 seeds)"
    assert table.mark("pair", "tense") == table.mark("pair", AVERAGE) == "better"
    assert table.mark("random_weights_0", "tense") == ""
