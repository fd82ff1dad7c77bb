"""Sentences found by what they must have, against what one reads off the trees."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.inspect.conditions import Conditions, tree_depths
from pipeline.shards.schema import schema_for
from pipeline.shards.shards import ROW_GROUP_ROWS, ShardWriter
from tests.support.command import subcommand
from tests.support.looked_at_corpus import constituent_row, write_looked_at
from tests.support.shard_files import sentence_rows, stage_table, write_stage

main = subcommand("inspect")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_looked_at(tmp_path / "corpus")


def places(capsys: pytest.CaptureFixture[str], corpus: Path, *options: str) -> list[str]:
    assert main(["grep", str(corpus), *options, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["found"]
    return [f"{one['shard']}:{one['row']}" for one in found]


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--words", "mouse"], ["0:0", "1:0"]),
        (["--words", "The mouse"], ["1:0"]),
        (["--words", "mouse The"], []),
        (["--words", ". Run"], []),  # at the end of one sentence and the beginning of the next
        (["--words", "the", "-i"], ["0:0", "1:0"]),
        (["--words", "the"], []),
        (["--words", "saw", "--words", "owl"], ["0:0"]),
        (["--form", "(?:s|h).."], ["0:0", "1:1"]),
        (["--form", "o"], []),
        (["--pattern", "owl sa"], ["0:0"]),
        (["--pattern", "^the .* see", "--ignore-case"], ["1:0"]),
        (["--relation", "nsubj"], ["0:0", "1:0"]),
        (["--relation", "nsubj:pass"], ["1:0"]),
        (["--relation", "nsub"], []),
        (["--relation", "nsubj", "--dependent", "owl"], ["0:0"]),
        (["--relation", "det", "--head", "mouse"], ["0:0", "1:0"]),
        (["--relation", "det", "--dependent", "The", "--head", "mouse"], ["1:0"]),
        (["--head", "saw", "--dependent", "MOUSE", "-i"], ["0:0"]),
        (["--label", "VP"], ["0:0", "0:1", "1:0", "1:1"]),
        (["--label", "S+VP"], []),
        (["--label", "NP", "--label", "VP", "--max-length", "5"], ["1:0", "1:1"]),
        (["--min-length", "3"], ["0:0", "1:0"]),
        (["--min-length", "2", "--max-length", "2"], ["0:1", "1:1"]),
        (["--min-depth", "3"], ["0:0", "1:0"]),
        (["--max-depth", "2"], ["0:1", "1:1"]),
        (["--depth-of", "dependencies", "--min-depth", "3"], ["0:0", "1:0"]),
        (["--depth-of", "dependencies", "--max-depth", "2"], ["0:1"]),
        (["--words", "mouse", "--relation", "obj"], ["0:0"]),
        (["-n", "1"], ["0:0"]),
    ],
)
def test_all_conditions_hold_at_once(
    corpus: Path, capsys: pytest.CaptureFixture[str], options: list[str], found: list[str]
) -> None:
    assert places(capsys, corpus, *options) == found


def test_a_match_is_told_with_its_place_and_what_of_its_trees_matches(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["grep", str(corpus), "--relation", "nsubj:pass", "--label", "NP"]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [
        "    1:0  second 0  The mouse was seen .",
        "         mouse←nsubj:pass–seen",
        "         (NP The mouse)",
    ]
    assert printed.err == "1 of 4 sentences\n"


def test_what_is_not_shown_is_told(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["grep", str(corpus), "-n", "2"]) == 0
    assert capsys.readouterr().err == "the first 2; --all shows all, --count counts them\n"
    assert main(["grep", str(corpus), "--count"]) == 0
    assert capsys.readouterr().out == "4 of 4 sentences\n"
    assert main(["grep", str(corpus), "--label", "VP", "--count", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"matches": 4, "rows": 4}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--pattern", "a("], "--pattern 'a(' is no regular expression"),
        (["--form", "[" * 3], "--form '[[[' is no regular expression"),
        (["--min-length", "3", "--max-length", "2"], "--min-length 3 is more than --max-length 2"),
        (["--words", "  "], "--words is empty"),
    ],
)
def test_what_cannot_be_asked_for_is_a_mistake(
    corpus: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    assert main(["grep", str(corpus), *options]) == 2
    assert said in capsys.readouterr().err


def test_a_stage_that_is_asked_for_must_be_there(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["grep", str(corpus / "dependencies-x"), "--label", "NP"]) == 2
    assert "no constituents here, which --label needs" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--relation", "nsubjx"], "no tree has the relation 'nsubjx'; did you mean nsubj?"),
        (["--label", "NPP", "--count"], "no tree has the label 'NPP'; did you mean NP?"),
        (["--label", "NP", "--label", "Q", "--json"], "no tree has the label 'Q'"),
    ],
)
def test_a_name_that_no_tree_has_is_told(
    corpus: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    assert main(["grep", str(corpus), *options]) == 0
    assert said in capsys.readouterr().err


def test_names_that_trees_have_are_not_told_of(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["grep", str(corpus), "--relation", "nsubj", "--min-length", "99"]) == 0
    assert main(["grep", str(corpus), "--label", "VP", "--min-length", "99"]) == 0
    assert "no tree has" not in capsys.readouterr().err


def test_json_says_what_was_found_and_whether_there_may_be_more(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["grep", str(corpus), "--relation", "nsubj", "-n", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["is_cut"] and told["found"][0]["matched"] == ["owl←nsubj–saw"]
    assert main(["grep", str(corpus), "--relation", "nsubj", "--all", "--json"]) == 0
    assert not json.loads(capsys.readouterr().out)["is_cut"]


def test_of_names_that_begin_alike_the_one_before_the_digest_is_meant(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (corpus / "dependencies-x").rename(corpus / "dependencies-x-0123456789ab")
    rows = [{"heads": None, "deprels": None}] * 2
    write_stage(corpus / "dependencies-x-small-0123456789ab", "dependencies", rows, rows)
    chosen = ("--relation", "nsubj", "--stage")
    assert places(capsys, corpus, *chosen, "dependencies-x") == ["0:0", "1:0"]
    assert places(capsys, corpus, *chosen, "dependencies-x-small") == []


def test_of_two_parses_of_a_kind_one_is_named(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"heads": [0, 1], "deprels": ["root", "other"]}]
    first = [{"heads": None, "deprels": None}]
    write_stage(corpus / "dependencies-y", "dependencies", first + rows, first + first)
    assert main(["grep", str(corpus), "--relation", "other"]) == 2
    assert "several folders of dependencies: dependencies-x" in capsys.readouterr().err
    chosen = ("--relation", "other", "--stage")
    assert places(capsys, corpus, *chosen, "dependencies-y") == ["0:1"]
    assert places(capsys, corpus, *chosen, "dependencies-x") == []
    assert main(["grep", str(corpus), *chosen, "dependencies"]) == 2
    assert "several stages begin with 'dependencies'" in capsys.readouterr().err
    assert main(["grep", str(corpus), *chosen, "dependencys-y"]) == 2
    assert "did you mean dependencies-y?" in capsys.readouterr().err


def test_hidden_characters_are_shown_and_forge_no_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_stage(tmp_path, "sentences", sentence_rows([["a\n0:9  fake", "\x1b[2J", "\u202eb"]]))
    assert main(["grep", str(tmp_path), "--pattern", "fake"]) == 0
    assert capsys.readouterr().out == "    0:0  a 0  a\\n0:9  fake \\x1b[2J \\u202eb\n"


def test_rows_are_found_in_row_groups_that_are_cut_differently(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sentences in two row groups, their parses in two others."""
    count = ROW_GROUP_ROWS + 3
    tokens = [["x"]] * (count - 1) + [["needle"]]
    write_stage(tmp_path / "sentences", "sentences", sentence_rows(tokens))
    rows = [{"heads": [0], "deprels": ["root"]}] * (count - 1)
    last = {"heads": [0], "deprels": ["found"]}
    with ShardWriter(tmp_path / "dependencies", "dependencies", 0) as writer:
        writer.write(stage_table("dependencies", rows[:7]))
        writer.write(stage_table("dependencies", [*rows[7:], last]))
        writer.finish(drops={}, quarantine=[])
    found = places(capsys, tmp_path, "--relation", "found", "--words", "needle")
    assert found == [f"0:{count - 1}"]


labels = st.sampled_from(["NP", "VP", "S+VP", "A+B+C"])
trees = st.recursive(
    st.just("(T w)"),
    lambda inner: st.builds(
        lambda label, parts: f"({label} {' '.join(parts)})", labels, st.lists(inner, min_size=2)
    ),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(trees, max_size=4))
def test_depth_of_constituents_counts_labels(found: list[str]) -> None:
    rows = [constituent_row(f"(TOP {tree} (. .))")[1] for tree in found]
    rows.append(dict.fromkeys(schema_for("constituents").names))
    depths = tree_depths(stage_table("constituents", rows), "constituents")
    assert depths.tolist() == [*(1 + most_labels(tree) for tree in found), 0]


def most_labels(tree: str) -> int:
    """Most labels above a word, read off the brackets; a chain is as many as it joins."""
    most, open_labels = 0, []
    for piece in tree.replace("(", " ( ").replace(")", " ) ").split():
        if piece == "(":
            open_labels.append(0)
        elif piece == ")":
            open_labels.pop()
        elif piece not in ("T", "w"):
            open_labels[-1] = piece.count("+") + 1
            most = max(most, sum(open_labels))
    return most


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.randoms())
def test_depth_of_dependencies_counts_words(lengths: list[int], random: object) -> None:
    rows = []
    for length in lengths:  # a head stands before its dependents, so this is a tree
        heads = [0, *(random.randint(1, place) for place in range(1, length))]  # type: ignore[attr-defined]
        rows.append({"heads": heads, "deprels": ["x"] * length})
    depths = tree_depths(stage_table("dependencies", rows), "dependencies")
    assert depths.tolist() == [max(map(len, paths(row["heads"]))) for row in rows]


def paths(heads: list[int]) -> list[list[int]]:
    found: list[list[int]] = []
    for head in heads:
        found.append([*(found[head - 1] if head else []), head])
    return found


def test_no_condition_finds_every_row() -> None:
    table = pa.table({"tokens": pa.array([["a"], ["b", "c"]])})
    assert Conditions().rows_of(table).tolist() == [0, 1]
