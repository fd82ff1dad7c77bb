"""What stands in a work folder, and how two folders of it differ."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.evaluation_examples import answers, result, task
from treeviews.command import main
from treeviews.models.evaluation.task_result import EncoderIdentity, write_result
from treeviews.models.listing import Listed, difference, listed, main_score


def write(path: Path, **value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def write_run(work: Path) -> None:
    """Writes of each kind what its stage leaves, as far as it is read."""
    sentences = work / "corpora" / "files-0123456789ab" / "sentences"
    write(sentences / "config.json", corpus={"source": "files"}, splitter={"limit": 0})
    write(sentences / "manifest.json", rows=1200)
    for seed, accuracy in ((0, 0.061), (1, 0.064)):
        model = work / "models" / f"DEP-CONST-{seed:012d}"
        training = {"seed": seed, "views": ["DEP", "CONST"]}
        write(model / "config.json", sentences="0123456789ab", training=training)
        write(model / "summary.json", held_out={"best": {"accuracy": accuracy}})
    places = work / "evaluation"
    write(places / "jobs" / "trained-aaaaaaaaaaaa" / "config.json", evaluations=["bb", "cc"])
    for name, digest, share in (("MR", "bb", 0.8), ("CR", "cc", 0.7)):
        made = result(answers(100, share), task(name), encoder=EncoderIdentity("DEP", "e", 0))
        made = replace(made, data=replace(made.data, derived_from="files-0123456789ab"))
        write_result(places / "results" / f"trained-{name}-{digest}" / f"{name}.json", made)
    report = work / "reports" / "files-DEP-CONST-dddddddddddd"
    rows = [{"name": "pair", "result": {"average": {"value": 61.0}}}]
    seeds = {"average": 61.5}
    write(report / "config.json", baseline="random weights")
    write(
        report / "report.json",
        rows=rows,
        trained_seeds=seeds,
        corpus="files",
        config={"training": {}},
    )


@pytest.fixture
def work(tmp_path: Path) -> Path:
    write_run(tmp_path / "work")
    return tmp_path / "work"


def told(one: Listed) -> tuple[str, str, str, str]:
    return one.kind, one.about, one.text, one.score


def test_each_kind_is_listed_with_its_text_and_main_score(work: Path) -> None:
    assert list(map(told, listed(work))) == [
        ("corpus", "sentences", "", "1,200 sentences"),
        ("model", "seed 0", "files-0123456789ab", "held-out accuracy 6.1"),
        ("model", "seed 1", "files-0123456789ab", "held-out accuracy 6.4"),
        ("results", "DEP", "files-0123456789ab", "mean of 2 tasks 75.0"),
        ("report", "", "files", "mean of the seeds 61.5"),
    ]
    assert all(one.num_bytes > 0 and one.made > 0 for one in listed(work))


def test_what_is_unfinished_or_damaged_is_listed_too(work: Path) -> None:
    first, second = sorted((work / "models").iterdir())
    (first / "summary.json").unlink()
    (second / "summary.json").write_text('{"held_out"', encoding="utf-8")

    unfinished, damaged = (one for one in listed(work) if one.kind == "model")
    assert unfinished.score == ""
    assert damaged.score.startswith("damaged: ") and "summary.json" in damaged.score


def test_two_models_differ_in_settings_and_stand_side_by_side(work: Path) -> None:
    first, second = (each.name for each in listed(work) if each.kind == "model")
    assert difference(first, str(work / second), work) == {
        "settings": {"training.seed": (0, 1)},
        "scores": {"held-out accuracy": (pytest.approx(6.1), pytest.approx(6.4))},
    }


def test_results_differ_in_how_they_were_scored(work: Path) -> None:
    jobs = work / "evaluation" / "jobs"
    write(jobs / "trained-eeeeeeeeeeee" / "config.json", evaluations=["cc"])
    compared = difference(*(path.as_posix() for path in sorted(jobs.iterdir())), work)
    assert compared["settings"] == {}
    assert compared["scores"]["CR"] == (70.0, 70.0)
    assert compared["scores"]["MR"] == (80.0, None)


def test_one_result_is_known_by_its_task(work: Path) -> None:
    assert main_score(work / "evaluation" / "results" / "trained-MR-bb") == "MR 80.0"


def test_the_commands_print_tables_and_json(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--work-folder", str(work)]

    assert main(["list", *asked]) == 0
    shown = capsys.readouterr().out
    assert "| english |" in shown
    assert "| held-out accuracy 6.4 |" in shown
    assert main(["list", *asked, "--json"]) == 0
    models = [one["name"] for one in json.loads(capsys.readouterr().out) if one["kind"] == "model"]
    assert models[:2] == ["english", "english-trees"]
    assert main(["diff", *models[2:], *asked]) == 0
    assert "| training.seed | 0 | 1 |" in capsys.readouterr().out
    assert main(["diff", "nowhere", models[2], *asked]) == 2
    assert "nowhere: no such folder" in capsys.readouterr().err
    assert main(["diff", str(work), "english", *asked]) == 2
    assert "neither settings nor scores there" in capsys.readouterr().err
    assert main(["diff", "english", "english-trees", "--json"]) == 0
    assert "training.views" in json.loads(capsys.readouterr().out)["settings"]
    assert main(["list", "--work-folder", "nowhere"]) == 2
    assert "no such work folder" in capsys.readouterr().err
