"""Two parses of the same sentences."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pipeline.trees.parses import ConstituencyParse, DependencyParse
from pipeline.trees.tree_scores import score_brackets, score_dependencies
from pipeline.trees.treebanks import TreebankSentence
from tests.support.command import subcommand
from tests.support.looked_at_corpus import (
    BRACKETS,
    constituent_row,
    dependency_rows,
    sentence_rows_of,
    write_looked_at,
)
from tests.support.shard_files import write_rows, write_stage

main = subcommand("inspect")

OTHER_BRACKETS = (
    "(S (NP (DT The) (ADJP (JJ old)) (NN owl)) (VP (VBD saw) (NX (DT a) (NN mouse))) (. .))",
    *BRACKETS[1:],
)


def other_rows() -> list[dict[str, Any]]:
    """The dependencies with another head and another relation in the first sentence."""
    rows = dependency_rows()
    rows[0] = {"heads": [3, 3, 4, 0, 4, 4, 4], "deprels": [*rows[0]["deprels"][:5], "obl", "punct"]}
    rows[1] = {"heads": None, "deprels": None}
    return rows


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A corpus with a second parse of either kind."""
    folder = write_looked_at(tmp_path / "corpus")
    rows = other_rows()
    write_stage(folder / "dependencies-y", "dependencies", rows[:2], rows[2:])
    trees = [constituent_row(brackets)[1] for brackets in OTHER_BRACKETS]
    write_stage(folder / "constituents-y", "constituents", trees[:2], trees[2:])
    return folder


def compared(
    capsys: pytest.CaptureFixture[str], first: Path, second: Path, *options: str
) -> list[dict[str, Any]]:
    assert main(["diff", str(first), str(second), "--json", *options]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def test_dependencies_are_scored_as_treebanks_are(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (found,) = compared(capsys, corpus / "dependencies-x", corpus / "dependencies-y")
    rows = list(zip(sentence_rows_of(), dependency_rows(), other_rows(), strict=True))
    both = [row for row in rows if row[1]["heads"] and row[2]["heads"]]
    scores = score_dependencies(
        [TreebankSentence("", s["tokens"], a["heads"], a["deprels"]) for s, a, _ in both],
        [DependencyParse(b["heads"], b["deprels"]) for _, _, b in both],
    )
    assert found["scores"]["all tokens"]["uas"] == pytest.approx(scores.uas)
    assert found["scores"]["all tokens"]["las"] == pytest.approx(scores.las)
    assert found["scores"]["without punctuation"]["las"] == scores.las_no_punctuation
    assert (found["sentences"], found["compared"], found["identical"]) == (4, 2, 1)
    assert found["refused"] == {"by the second alone": 1, "by both": 1}
    assert found["by_label"]["obj"] == {"first": 1, "second": 0, "both": 0, "share": 0.0}
    assert found["by_label"]["det"] == {
        **{"first": 3, "second": 3, "both": 2},
        "share": pytest.approx(200 / 3),
    }
    assert found["exchanged"] == [{"first": "obj", "second": "obl", "count": 1}]


def test_the_sentences_that_differ_most_say_in_what(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (found,) = compared(capsys, corpus / "dependencies-x", corpus / "dependencies-y")
    (worst,) = found["most_different"]
    assert (worst["shard"], worst["row"], worst["share"]) == (0, 0, pytest.approx(2 / 7))
    assert [(d["words"], d["first"], d["second"]) for d in worst["differences"]] == [
        ("a", "det–mouse", "det–saw"),
        ("mouse", "obj–saw", "obl–saw"),
    ]
    longer = ("--min-length", "8")
    (found,) = compared(capsys, corpus / "dependencies-x", corpus / "dependencies-y", *longer)
    assert found["most_different"] == []


def test_constituents_are_scored_with_and_without_labels(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (found,) = compared(capsys, corpus / "constituents-x", corpus / "constituents-y")
    sides = [
        [ConstituencyParse(*list(constituent_row(b)[1].values())[:4]) for b in brackets]
        for brackets in (BRACKETS, OTHER_BRACKETS)
    ]
    assert found["scores"]["labelled brackets"]["f1"] == score_brackets(*sides).f1
    assert found["scores"]["brackets"] == {
        **{"first": 13, "second": 14, "both": 13},
        "f1": pytest.approx(200 * 13 / 27),
    }
    assert found["scores"]["tags"] == {"agreement": 100.0}
    assert (found["compared"], found["identical"]) == (4, 3)
    (worst,) = found["most_different"]
    assert [(d["words"], d["first"], d["second"]) for d in worst["differences"]] == [
        ("old", "", "ADJP"),
        ("a mouse", "NP", "NX"),
    ]
    assert found["exchanged"] == [{"first": "NP", "second": "NX", "count": 1}]


def test_a_parse_agrees_with_its_copy_in_all(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for stage in ("dependencies-y", "constituents-y"):
        shutil.rmtree(corpus / stage)
    copy = tmp_path / "copy"
    shutil.copytree(corpus, copy)
    found = compared(capsys, corpus, copy)
    assert [one["stage"] for one in found] == ["dependencies", "constituents"]
    assert [one["identical"] for one in found] == [3, 4]
    assert found[0]["scores"]["all tokens"]["las"] == 100.0
    assert found[1]["scores"]["labelled brackets"]["f1"] == 100.0


def test_the_two_parses_of_one_corpus_are_compared(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = compared(capsys, corpus, corpus)
    assert [(Path(one["first"]).name, Path(one["second"]).name) for one in found] == [
        ("dependencies-x", "dependencies-y"),
        ("constituents-x", "constituents-y"),
    ]


def test_of_three_parses_two_have_to_be_named(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(corpus / "constituents-y")
    shutil.copytree(corpus / "dependencies-y", corpus / "dependencies-z")
    assert main(["diff", str(corpus), str(corpus)]) == 2
    error = capsys.readouterr().err
    assert "give the folders of the two parses to compare" in error and "--stage" not in error


@pytest.mark.parametrize("command", ["head", "show"])
def test_of_several_parses_one_has_to_be_named(
    corpus: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    assert main([command, str(corpus)]) == 2
    assert "choose it with --stage dependencies-x" in capsys.readouterr().err
    named = ["--stage", "dependencies-y", "--stage", "constituents-y"]
    assert main([command, str(corpus), *named]) == 0


def test_agreement_is_printed_and_drawn(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = corpus / "page.html"
    first, second = corpus / "dependencies-x", corpus / "dependencies-y"
    assert main(["diff", str(first), str(second), "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    for part in (
        "dependencies  first: dependencies-x, second: dependencies-y\n",
        "identical  1 (50.0%)",
        "refused  1 by the second alone",
        "all tokens  UAS 91.7 %, LAS 83.3 %",
        "obj          1         0         0       0.0 %",
        "exchanged  obj/obl 1",
        "    0:0   29%  The old owl saw a mouse .\n               5  a: det–mouse | det–saw\n",
    ):
        assert part in printed
    page = out.read_text("utf-8")
    assert page.count("<svg") == 2
    assert page.count('class="arc marked tip"') == 4  # two arcs of either parse


def test_sentences_that_differ_are_refused_with_the_first_row(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write_looked_at(tmp_path / "other")
    rows = [dict(row) for row in sentence_rows_of()]
    rows[3]["tokens"] = ["It", "slept"]
    write_rows(other / "sentences", "sentences", 1, rows[2:])
    assert main(["diff", str(corpus / "dependencies-x"), str(other / "dependencies-x")]) == 2
    error = capsys.readouterr().err
    assert "the sentences differ from row 1 of shard 1 on: " in error
    assert "has 'It hid', " in error and "has 'It slept'; give two parses of one text" in error


def test_a_text_that_goes_on_in_one_of_them_is_refused(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write_looked_at(tmp_path / "other")
    write_rows(other / "sentences", "sentences", 1, sentence_rows_of()[2:3])
    assert main(["diff", str(corpus / "dependencies-x"), str(other / "dependencies-x")]) == 2
    assert "row 1 of shard 1 on: " in (error := capsys.readouterr().err)
    assert "has no such row" in error


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("dependencies-x", "constituents-x", "nothing of one kind to compare"),
        ("dependencies-x", "dependencies-x", "the same folder twice"),
        ("sentences", "dependencies-x", "sentences holds no trees"),
        ("dependencies-x", ".", "several folders of dependencies: dependencies-x, dependencies-y"),
    ],
)
def test_what_cannot_be_compared_is_a_mistake(
    corpus: Path, capsys: pytest.CaptureFixture[str], first: str, second: str, said: str
) -> None:
    assert main(["diff", str(corpus / first), str(corpus / second)]) == 2
    assert said in capsys.readouterr().err


def test_a_parse_without_sentences_is_known_by_what_it_was_parsed_from(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lone = tmp_path / "lone" / "dependencies-y"
    rows = other_rows()
    for number, part in enumerate((rows[:2], rows[2:])):
        manifest = json.loads((corpus / "sentences" / f"{number:05d}.json").read_text("utf-8"))
        facts = {"sentences_sha256": manifest["sha256"]}
        write_rows(lone, "dependencies", number, part, extra=facts)
    assert compared(capsys, corpus / "dependencies-x", lone)[0]["compared"] == 2
    write_rows(lone, "dependencies", 1, rows[2:])
    assert main(["diff", str(corpus / "dependencies-x"), str(lone)]) == 2
    assert "put its own sentences/ beside its folder" in capsys.readouterr().err
