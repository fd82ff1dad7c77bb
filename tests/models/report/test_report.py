"""The report's content, from results made by hand."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from models.evaluation.task_result import DataRecord
from models.report.markdown import code, markdown_table
from models.report.probing_table import RowFiles, probing_table, read_rows
from models.report.run.inputs import ReportInputs, StageRecord, installed_versions
from models.report.run.probing_sections import statement
from models.report.run.report import write_report
from models.report.run.training_section import smoothed
from models.report.significance import marks_of_table
from tests.support.report_examples import (
    HELD_OUT,
    SUMMARY,
    changed,
    report_inputs,
    row,
    usual_rows,
    with_rows,
)


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> tuple[ReportInputs, Path]:
    """A report of the usual rows: what it was made of, and where it is."""
    folder = tmp_path_factory.mktemp("report")
    given = with_rows(report_inputs(folder), folder, usual_rows(0.8))
    given = replace(given, corpus="harbour diaries", command="luigi RunAll --seed 5")
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
        "| always the commonest class of the training split | – | 50.0 [",
        "mean ± sd over 3 seeds | 8 | 62.0 ± 2.0 | 62.0 ± 2.0 | 62.0 ± 2.0 |",
        "- object_number: only 7 train sentences",
        "| trained | 6.00 | 0.25 | 24.0 |",
        "treeviews encode english-trees < sentences.txt > vectors.npy\n"
        f"treeviews encode {inputs.training_folder} < sentences.txt",
        "| sentences | too long 7 | no parse 9 | 12,000 | 20.0 | 600 |",
        "| dependencies | bundled | ffffffffffff | LAS 83.1 |",
        "## What was run\n\n- Text: harbour diaries.",
        "Command:\n\n```sh\nluigi RunAll --seed 5\n```",
        "- Commit: 0123abc.",
        '"seed": 5',
        "- Versions: python 3.11.0, torch 2.13.0",
        "![Loss](loss.svg)",
        "| sentence length | a rule | document | 100 documents | 2 | 600 / 100 / 300 | 50.0 |",
        "no parse 4",
        "| trained − sif | +9.0 | +9.0 | +9.0 [",
        "| trained − english | +3.0 | +3.0 | +3.0 [",
        "| pair and bag of words − random and bag of words | +10.0 | +10.0 | +10.0 [",
        "One training seed was run",
    ):
        assert expected in text, expected


HOSTILE = "<script>\n\n# Heading\n```\n|x|\x1b[2J [a](b)"


def test_what_others_wrote_is_shown_as_text(inputs: ReportInputs, tmp_path: Path) -> None:
    given = replace(
        with_rows(inputs, tmp_path, usual_rows(0.8)),
        corpus=f"files ({HOSTILE})",
        command=f"luigi RunAll --paths '{HOSTILE}'",
        config={"paths": HOSTILE},
        parsers=({"kind": "dependencies", "name": HOSTILE, "scores": {HOSTILE: HOSTILE}},),
        stages=(StageRecord(HOSTILE, 1, 1.0, {HOSTILE: 1}, left_out={HOSTILE: 2}),),
    )
    text = written(tmp_path / "report", given)
    outside, fence = [], ""
    for line in text.splitlines():  # as a renderer reads it
        if not fence and line.startswith("```"):
            fence = line.rstrip("shjon")
        elif fence:
            fence = "" if line == fence else fence
        else:
            outside.append(line)
    assert not fence
    assert "\x1b" not in text
    assert not any("<script>" in line or "# Heading" in line[:3] for line in outside)
    assert "|x|" not in "\n".join(outside)
    assert "Of the paths of &lt;script> # Heading" in text
    assert "were not read: &lt;script>" in text


def test_a_span_of_code_holds_its_backticks() -> None:
    assert code("a`b") == "`` a`b ``"
    assert code("/plain/path") == "`/plain/path`"


@pytest.mark.parametrize(
    ("test_size", "num_absent", "expected"),
    [
        (300, 6, "Only 2 of 8 tasks could be built, 600 test items: too little for a verdict."),
        (240, 1, "Only 2 of 3 tasks could be built, 480 test items: too little for a verdict."),
        (200, 0, "All 2 tasks could be built, 400 test items: too little for a verdict."),
        (250, 2, "the trained model beats the same architecture"),
    ],
)
def test_no_verdict_is_given_on_too_little(test_size: int, num_absent: int, expected: str) -> None:
    table = probing_table([row("pair", 0.8), row("random_weights_0", 0.6)])
    tasks = {name: {"sizes": {"test": test_size}} for name in table.tasks}
    absent = {f"task {number}": "too few" for number in range(num_absent)}
    said = statement(table, {"tasks": tasks, "absent": absent}, marks_of_table(table))
    assert expected in said


@pytest.mark.parametrize(
    ("share", "verdict"), [(0.8, "beats"), (0.6, "is not told apart from"), (0.4, "is below")]
)
def test_the_verdict_follows_the_figures(share: float, verdict: str) -> None:
    table = probing_table([row("pair", share), row("random_weights_0", 0.6, seed=1)])
    assert table.comparisons[0].verdict == verdict


def test_several_training_seeds_are_averaged_and_their_spread_is_shown(
    inputs: ReportInputs, tmp_path: Path
) -> None:
    folder = tmp_path / "seed-1"
    folder.mkdir()
    held_out = {**SUMMARY["held_out"], "final": {**HELD_OUT, "accuracy": 0.05}}
    (folder / "summary.json").write_text(json.dumps({**SUMMARY, "seed": 1, "held_out": held_out}))
    shutil.copy(inputs.training_folder / "metrics.jsonl", folder)
    first, *others = usual_rows(0.8)
    rows = [first, row("pair_seed_1", 0.7, seed=20), row("pair_seed_2", 0.72, seed=21), *others]
    given = replace(with_rows(inputs, tmp_path, rows), further_training_folders=(folder,))
    text = written(tmp_path / "out", given)
    for expected in (
        "from 0.3 to 5.5 %, +5.2 [+3.6, +6.8] points (mean over 2 training seeds; chance",
        "random weights (mean over 3 training seeds): +12.0 [",
        "| trained, mean ± sd over 3 seeds | 8 | 74.0 ± 5.3 ▲ | 74.0 ± 5.3 ▲ | 74.0 ± 5.3 ▲ |",
        "| trained − random weights | +12.0 | +12.0 | +12.0 [",
        "| trained − bag of words | +4.0",
        "The model was trained from 3 seeds",
        "| trained, seed 0 | 6.00 |",
        "| trained, seed 1 | 5.00 |",
    ):
        assert expected in text, expected
    assert "One training seed was run" not in text
    value = json.loads((tmp_path / "out" / "report.json").read_text())
    assert value["trained_seeds"]["num_seeds"] == 3


def test_training_and_random_seeds_are_compared_item_by_item() -> None:
    rows = [row("pair", 0.8), row("pair_seed_1", 0.8), row("random_weights_0", 0.8)]
    difference = probing_table(rows).comparisons[0].difference
    assert (difference.value, difference.low, difference.high) == (0.0, 0.0, 0.0)


def test_a_fit_that_did_not_converge_is_told(inputs: ReportInputs, tmp_path: Path) -> None:
    whole = row("pair", 0.8)
    outcome = whole.results["tense"].outcome
    short = replace(outcome, not_converged=1, details={"largest_gap": 0.02})
    cut = changed(whole, "tense", outcome=short)
    text = written(tmp_path / "out", with_rows(inputs, tmp_path, [cut]))
    assert "fits that stopped before the tolerance was reached: tense 1 of" in text


def test_small_tasks_are_marked_and_sentences_resampled_for_want_of_documents_told(
    inputs: ReportInputs, tmp_path: Path
) -> None:
    path = inputs.probing_folder / "probing.json"
    summary = json.loads(path.read_text())
    summary["tasks"]["tense"].update(
        sizes={"train": 90, "dev": 30, "test": 60}, resampled_by="sentence", num_resampled=60
    )
    path.write_text(json.dumps(summary))
    text = written(tmp_path / "out", with_rows(inputs, tmp_path, [row("pair", 0.8)]))
    assert "| row | width | sentence length | tense (small) | average |" in text
    assert "| tense (small) | a rule | document | 60 sentences | 2 | 90 / 30 / 60 |" in text
    assert "are too narrow for other documents: tense." in text


def test_rows_probed_on_other_sentences_are_refused(inputs: ReportInputs, tmp_path: Path) -> None:
    other = changed(row("bag_of_words", 0.7), "tense", data=DataRecord("d1", "s0"))
    with pytest.raises(ValueError, match="tense was scored on other sentences than in pair; eval"):
        write_report(tmp_path / "out", with_rows(inputs, tmp_path, [row("pair", 0.8), other]))


def test_without_random_rows_nothing_is_claimed(inputs: ReportInputs, tmp_path: Path) -> None:
    rows = [row("pair", 0.8), row("bag_of_words", 0.7, seed=1)]
    text = written(tmp_path / "out", with_rows(inputs, tmp_path, rows))
    assert "No row with random weights was evaluated" in text
    assert "beats" not in text


def test_all_files_are_there_and_the_same_when_written_again(
    usual: tuple[ReportInputs, Path], tmp_path: Path
) -> None:
    given, out = usual
    write_report(tmp_path, given)
    names = sorted(path.name for path in out.iterdir())
    assert names == ["accuracy.svg", "loss.svg", "report.html", "report.json", "report.md"]
    for name in names:
        assert (out / name).read_bytes() == (tmp_path / name).read_bytes(), name


def test_json_holds_the_figures_without_single_answers(usual: tuple[ReportInputs, Path]) -> None:
    value = json.loads((usual[1] / "report.json").read_text())
    assert value["effect_of_training"]["difference"]["value"] == pytest.approx(5.7)
    assert value["random_weights"]["average"] == pytest.approx(62.0)
    assert value["stages"][0]["drops"] == {"too_long": 7}
    assert value["rows"][0]["result"]["tasks"]["tense"]["accuracy"]["value"] == 80.0
    assert value["rows"][0]["config"]["declared_by_data"] == {"standardise": True}
    assert "predictions" not in json.dumps(value)


def test_rows_probed_on_other_tasks_are_refused(inputs: ReportInputs, tmp_path: Path) -> None:
    other = row("bag_of_words", 0.7)
    other = replace(other, results={"sentence_length": other.results["sentence_length"]})
    given = with_rows(inputs, tmp_path, [row("pair", 0.8), other])
    with pytest.raises(ValueError, match="evaluate all rows on the same probing data"):
        write_report(tmp_path / "out", given)
    assert not (tmp_path / "out" / "report.json").exists()


def test_an_unfinished_training_is_refused(inputs: ReportInputs, tmp_path: Path) -> None:
    (inputs.training_folder / "summary.json").unlink()
    with pytest.raises(FileNotFoundError, match="this training is not complete"):
        write_report(tmp_path / "out", inputs)


def test_a_table_keeps_cells_apart() -> None:
    assert markdown_table(["a", "b"], [["x|y", "1"]]).splitlines()[-1] == "| x\\|y | 1 |"
    with pytest.raises(ValueError, match="does not fit the header"):
        markdown_table(["a", "b"], [["x"]])


def test_a_row_without_a_result_is_refused() -> None:
    with pytest.raises(ValueError, match="row pair: no probing task was scored; evaluate all"):
        read_rows([RowFiles("pair", "row pair", ())])


def test_smoothing_is_the_mean_of_the_last_values() -> None:
    assert smoothed([1.0, 3.0, 5.0], 2) == [1.0, 2.0, 4.0]


def test_versions_name_what_is_absent() -> None:
    found = installed_versions(("numpy", "no-such-package-here"))
    assert found["numpy"] == np.__version__
    assert found["no-such-package-here"] == "not installed"
