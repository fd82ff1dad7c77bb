"""``inspect diff``: two parses of the same sentences."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import subcommand
from tests.support.looked_at_corpus import (
    BRACKETS,
    constituent_row,
    dependency_rows,
    sentence_rows_of,
    write_looked_at,
    write_parse,
)
from treeviews.pipeline.inspect.check import tree_of
from treeviews.pipeline.trees.flat_trees import DependencyParse
from treeviews.pipeline.trees.tree_scores import AttachmentCounts, BracketCounts

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
    write_parse(folder / "dependencies-y", "dependencies", other_rows())
    trees = [constituent_row(brackets)[1] for brackets in OTHER_BRACKETS]
    write_parse(folder / "constituents-y", "constituents", trees)
    return folder


def test_both_kinds_are_scored_as_treebanks_are(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", str(corpus), str(corpus), "--json"]) == 0
    arcs, phrases = json.loads(capsys.readouterr().out)

    rows = list(zip(sentence_rows_of(), dependency_rows(), other_rows(), strict=True))
    both = [row for row in rows if row[1]["heads"] and row[2]["heads"]]
    counts = AttachmentCounts()
    for s, a, b in both:
        counts.add(s["tokens"], DependencyParse(**a), DependencyParse(**b))
    scores = counts.scores()
    assert arcs["scores"]["uas"] == pytest.approx(scores["uas"])
    assert arcs["scores"]["las_no_punctuation"] == pytest.approx(scores["las_no_punctuation"])
    assert (arcs["sentences"], arcs["compared"], arcs["identical"]) == (4, 2, 1)
    (worst,) = arcs["most_different"]
    assert (worst["shard"], worst["row"], worst["differences"]) == (0, 0, 2)
    first, second = (
        [tree_of("constituents", constituent_row(one)[1]) for one in trees]
        for trees in (BRACKETS, OTHER_BRACKETS)
    )
    brackets = BracketCounts()
    for one, other in zip(first, second, strict=True):
        brackets.add(one.tags, one, other)
    assert phrases["scores"]["f1"] == pytest.approx(brackets.scores()["f1"])
    assert [one["differences"] for one in phrases["most_different"]] == [3]


def test_two_folders_are_compared_in_lines_and_a_copy_agrees_in_all(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", str(corpus / "dependencies-x"), str(corpus / "dependencies-y")]) == 0
    out = capsys.readouterr().out
    for part in ("4 sentences, 2 with both trees", "las  83.3 %", "0:0  2 tokens  The old owl saw"):
        assert part in out
    shutil.copytree(corpus, tmp_path / "copy")
    copy = tmp_path / "copy" / "constituents-x"
    assert main(["diff", str(corpus / "constituents-x"), str(copy), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["identical"], found["scores"]["f1"], found["most_different"]) == (4, 100.0, [])
