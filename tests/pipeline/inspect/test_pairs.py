from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import subcommand
from tests.support.shard_files import sentence_rows, write_stage

main = subcommand("inspect")

TOKENS = [["Dogs", "see", "old", "cats", "."], ["Odd", "one"], ["Go"]]
NO_TREE = {"heads": None, "deprels": None}
DEPENDENCIES = [
    {"heads": [2, 0, 4, 2, 2], "deprels": ["nsubj", "root", "amod", "obj", "punct"]},
    NO_TREE,
    {"heads": [0], "deprels": ["root"]},
]


def constituents(tags: list[str]) -> dict[str, list[int] | list[str]]:
    """A flat tree."""
    inner = len(tags) - 1
    return {
        "span_starts": [0],
        "span_ends": [len(tags)],
        "span_labels": ["S"],
        "tags": tags,
        "binary_left": [node + 1 for node in range(inner - 1)] + [-1] * (inner > 0),
        "binary_right": [node - inner - 1 for node in range(inner)],
    }


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    write_stage(tmp_path / "sentences", "sentences", sentence_rows(TOKENS))
    write_stage(tmp_path / "dependencies-x", "dependencies", DEPENDENCIES)
    tags = [["NNS", "VBP", "JJ", "NNS", "."], ["JJ", "NN"], ["VB"]]
    write_stage(tmp_path / "constituents-x", "constituents", [constituents(t) for t in tags])
    return tmp_path


def test_pairs_are_counted_and_shown(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pairs", str(corpus), "--transformation", "subject_and_object_exchanged"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "2 of 3 sentences have both parses",
        "negative subject_and_object_exchanged: 1 sentences (50.0%)",
        "      0:0  Dogs see old cats .",
        "       ->  Old cats see dogs .",
    ]


def test_no_example_is_shown_where_none_is_asked_for(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(corpus), "pairs", "--first", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "positive without_adjective: 1 sentences (50.0%)" in lines
    assert not [line for line in lines if "->" in line]


def test_all_that_can_be_made_of_one_row_is_shown(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pairs", str(corpus), "--row", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "      0:0  Dogs see old cats .",
        "positive without_adjective",
        "       ->  Dogs see cats .",
    ]
    assert "       ->  Dogs do not see old cats ." in lines


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--row", "1"], "row 1 of shard 0 was refused by a parser"),
        (["--row", "9"], "row 9 of shard 0 does not exist"),
        (["--shard", "4"], "no shard 4 that all stages have; they share [0]"),
    ],
)
def test_a_row_that_cannot_be_shown_is_named(
    corpus: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["pairs", str(corpus), *arguments]) == 2
    assert message in capsys.readouterr().err


def test_both_parses_are_needed(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pairs", str(corpus / "dependencies-x")]) == 2
    assert "no constituents beside it; give the folder of a parsed corpus" in (
        capsys.readouterr().err
    )
