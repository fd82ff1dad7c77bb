"""Pages of published results equal what their data make, and say where the data are out of date."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.results import (
    README,
    cell_of,
    digest_of_model,
    headline_table,
    page,
    pages,
    read_results,
    result_of_run,
    stale_line,
    todays_inputs,
    write_result,
)

RESULT: dict[str, Any] = {
    "order": 1,
    "title": "A result",
    "date": "2026-11-22",
    "machine": "a laptop",
    "versions": {"torch": "2.13.0"},
    "seeds": [0],
    "inputs": {"data/parsers/dependency": "820a2bdd113e78ca", "training_version": 3},
    "headlines": [{"what": "accuracy", "figure": {"mean": "73.0", "deviation": "1.6"}}],
    "runs": [{"command": "python -m something \\\n  --all", "commit": "0123456789ab"}],
    "parts": ["A paragraph.", {"columns": ["row", "score"], "rows": [["one", "73.0"]]}],
}
SAME = {"data/parsers/dependency": "820a2bdd113e78ca", "training_version": "3"}
REPORT = """# Treeviews: report of a run

**The trained model is not told apart from random weights.**

## What was run

- Text: python-docs.

## Probing

Test accuracy in percent.

![Accuracy by task](accuracy_by_task.svg)

Each column has an axis of its own.

▲ better, ▼ worse than random weights.

| row | tense | average [95 %] |
| --- | ---: | ---: |
| trained, seed 0 | 73.0 ± 1.6 ▲ | 61.3 ± 0.1 ▼ |
| bag of words | 33.1 | 52.4 [51.0, 53.9] |

| rows | tense | average over tasks [95 %] | over all test items [95 %] |
| --- | ---: | ---: | ---: |
| trained − random weights | +0.9 | +0.6 [-0.1, +1.5] | +0.7 [+0.1, +1.2] |

## Nearest neighbours

A sentence about seed 42.
"""
FACTS = {
    "command": "luigi --module tasks RunAll",
    "commit": "0123456789ab",
    "corpus": "python-docs",
    "versions": {"torch": "2.13.0"},
    "parsers": [{"name": "dependency", "checksum": "820a2bdd113e78ca-float32"}],
    "config": {"training": {"training_version": 3, "seed": 0}},
    "rows": [{"name": "pair"}, {"name": "english"}],
    "effect_of_training": {
        "on": "how often it is right",
        "difference": {"value": 5.58, "low": 4.84, "high": 6.31},
    },
}


def test_every_page_is_what_its_data_make() -> None:
    made = pages(read_results(), todays_inputs(), README.read_text(encoding="utf-8"))
    stale = [str(p) for p, text in made.items() if p.read_text(encoding="utf-8") != text]
    assert stale == [], "run: python -m benchmarks.results"


def test_no_page_is_left_without_data() -> None:
    made = pages(read_results(), todays_inputs(), README.read_text(encoding="utf-8"))
    folder = README.parent / "docs" / "results"
    assert {p for p in made if p.parent == folder} == set(folder.glob("*.md"))


def test_a_result_with_todays_inputs_is_not_marked() -> None:
    assert stale_line(RESULT, SAME) == ""
    assert "out of date" not in headline_table({Path("a.json"): RESULT}, SAME)


def test_a_result_with_another_parser_is_marked_with_the_command_that_measures_it_again() -> None:
    today = SAME | {"data/parsers/dependency": "baae937f0711"}
    line = stale_line(RESULT, today)
    assert "data/parsers/dependency 820a2bdd113e" in line
    assert "now baae937f0711" in line
    assert "training_version" not in line
    assert "`python -m something --all`" in line
    assert line in page("a.json", RESULT, today)
    assert "out of date" in headline_table({Path("a.json"): RESULT}, today)


def test_an_input_that_no_longer_exists_marks_a_result() -> None:
    assert "now none" in stale_line(RESULT, {"training_version": "3"})


@pytest.mark.parametrize(
    "cell",
    ["73.7 ± 1.6", "68.8 [67.9, 69.6]", "+0.6 [−0.1, +1.5]", "33.1", "+0.9", "3,185", "one of 10"],
)
def test_a_cell_is_read_and_shown_again(cell: str, tmp_path: Path) -> None:
    result = copy.deepcopy(RESULT)
    result["parts"] = [{"columns": ["cell"], "rows": [[cell_of(cell)]]}]
    write_result(tmp_path / "a.json", result)
    (read,) = read_results(tmp_path).values()
    assert f"| {cell} |" in page("a.json", read, SAME)


@pytest.mark.parametrize("changed", ["model.json", "model.safetensors", "words/words.json"])
def test_whatever_a_model_is_made_of_changes_its_digest(changed: str, tmp_path: Path) -> None:
    (tmp_path / "words").mkdir()
    for name in ("model.json", "model.safetensors", "words/words.json", "card.md"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    before = digest_of_model(tmp_path)

    (tmp_path / "card.md").write_text("More is said.", encoding="utf-8")
    assert digest_of_model(tmp_path) == before
    (tmp_path / changed).write_text("{ }", encoding="utf-8")
    assert digest_of_model(tmp_path) != before


@pytest.mark.parametrize(
    ("name", "version"), [("word-vectors", "import_version"), ("splitting", "tokenization_version")]
)
def test_another_version_of_what_was_measured_makes_a_page_out_of_date(
    name: str, version: str
) -> None:
    (result,) = (one for path, one in read_results().items() if path.stem == name)
    today = todays_inputs()
    assert version in today
    assert version in stale_line(result, {**today, version: "the next"})


def test_zeros_at_the_end_of_a_figure_stay() -> None:
    assert "| one | 73.0 |" in page("a.json", RESULT, SAME)


def test_a_row_that_does_not_fit_its_columns_is_refused() -> None:
    result = copy.deepcopy(RESULT)
    result["parts"][1]["rows"] = [["one"]]
    with pytest.raises(ValueError, match="does not fit the columns"):
        page("a.json", result, SAME)


def test_readme_without_the_lines_around_its_figures_is_refused() -> None:
    with pytest.raises(ValueError, match="must stand around its figures"):
        pages({}, SAME, "# Treeviews\n")


def test_a_finished_run_becomes_a_result(tmp_path: Path) -> None:
    (tmp_path / "report.md").write_text(REPORT, encoding="utf-8")
    (tmp_path / "report.json").write_text(json.dumps(FACTS), encoding="utf-8")
    result = result_of_run(tmp_path, "a laptop")
    assert result["inputs"].pop("data/vectors/english")
    assert result["inputs"].pop("data/models/english")
    assert result["inputs"] == {
        "data/parsers/dependency": "820a2bdd113e78ca",
        "training_version": "3",
    }
    assert result["seeds"] == [0]
    effect, gain = result["headlines"]
    assert "effect of training: how often it is right, trained − untrained" in effect["what"]
    assert effect["figure"] == {"difference": 5.6, "low": 4.8, "high": 6.3}
    assert gain["figure"] == {"difference": 0.6, "low": -0.1, "high": 1.5}
    statement, heading, text, rows, differences = result["parts"]
    assert statement.startswith("**The trained model")
    assert (heading, text) == ("## Probing", "Test accuracy in percent.")
    assert rows["rows"][0][1] == {"mean": 73.0, "deviation": 1.6}
    assert differences["columns"][0] == "rows"
    assert "+0.6 [−0.1, +1.5]" in page("default-run.json", result, SAME)


def test_a_report_without_its_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "report.md").write_text("# Treeviews\n\nNothing.\n", encoding="utf-8")
    (tmp_path / "report.json").write_text(json.dumps(FACTS), encoding="utf-8")
    with pytest.raises(ValueError, match=r"report\.md has no table of differences"):
        result_of_run(tmp_path, "a laptop")
