"""``inspect query``: SQL over all stages, whose rows stay side by side."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.support.command import subcommand
from tests.support.looked_at_corpus import write_looked_at
from tests.support.shard_files import sentence_rows, stage_table
from treeviews.pipeline.inspect.aligned_rows import ask, select
from treeviews.pipeline.shards.shards import ShardWriter

pytest.importorskip("duckdb")
query = subcommand("inspect", "query")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_looked_at(tmp_path / "corpus [1] it's")


def places(corpus: Path, condition: str) -> list[str]:
    _, rows = ask(select(corpus), f"SELECT shard, row FROM corpus WHERE {condition}")
    return [f"{shard}:{row}" for shard, row in rows]


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        (
            "len(list_filter(range(1, len(tokens) + 1), lambda i: "
            "deprels[i] = 'det' AND tokens[heads[i]] = 'mouse')) > 0",
            ["0:0", "1:0"],
        ),
        ("list_contains(span_labels, 'S+VP')", ["0:1"]),
        ("shard = 1 AND row = 0", ["1:0"]),
    ],
)
def test_sentences_are_found_by_words_and_trees(
    corpus: Path, condition: str, found: list[str]
) -> None:
    assert places(corpus, condition) == found


def test_rows_stay_side_by_side_over_many_shards_and_row_groups(tmp_path: Path) -> None:
    """Row groups of each stage are cut elsewhere, and are read by several threads."""
    random, expected = Random(1), []
    for number in range(12):
        lengths = [random.randint(1, 9) for _ in range(random.randint(300, 3_000))]
        rows = {
            "sentences": sentence_rows([[f"{number}", *map(str, range(1, n))] for n in lengths]),
            "dependencies": [{"heads": list(range(n)), "deprels": ["d"] * n} for n in lengths],
        }
        for stage, of_stage in rows.items():
            table, start = stage_table(stage, of_stage), 0
            with ShardWriter(tmp_path / stage, stage, number) as writer:
                while start < table.num_rows:
                    some = random.randint(1, 400)
                    writer.write(table.slice(start, some))
                    start += some
                writer.finish(drops={}, quarantine=[])
        expected += [(number, row, str(number), n, n - 1) for row, n in enumerate(lengths)]
    sql = "SELECT shard, row, tokens[1], len(tokens), heads[-1] FROM corpus"
    assert list(ask(select(tmp_path), sql)[1]) == expected


@pytest.fixture
def printed(corpus: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def of(*options: str) -> tuple[int, str, str]:
        code = query([str(corpus), *options])
        said = capsys.readouterr()
        return code, said.out, said.err

    return of


def test_results_are_a_table_or_json_or_csv(printed: Any) -> None:
    sql = "SELECT row, tokens, heads FROM corpus WHERE shard = 1"
    tokens, heads = ["The", "mouse", "was", "seen", "."], [2, 4, 4, 0, 4]
    table = printed(sql)[1].splitlines()
    assert table == [
        "row  tokens                heads",
        "0    The mouse was seen .  2 4 4 0 4",
        "1    It hid",
    ]
    assert json.loads(printed(sql, "--json")[1])[0] == {"row": 0, "tokens": tokens, "heads": heads}
    first = next(csv.DictReader(printed(sql, "--csv")[1].splitlines()))
    assert (json.loads(first["tokens"]), json.loads(first["heads"])) == (tokens, heads)
    code, out, said = printed(sql, "-n", "1")
    assert (code, len(out.splitlines())) == (0, 2) and "the first 1 rows" in said
