"""``inspect`` and its ``overview``, ``schema``, ``show``: rows as they stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import subcommand
from tests.support.looked_at_corpus import write_parse
from tests.support.shard_files import write_rows, write_stage

main = subcommand("inspect")


def test_show_prints_both_trees(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(corpus), "--shard", "1"]) == 0
    assert capsys.readouterr().out == (
        "    1:0  second 0  The mouse was seen .\n"
        "\ndependencies\n"
        "token  word   relation    head\n"
        "1      The    det         2 mouse\n"
        "2      mouse  nsubj:pass  4 seen\n"
        "3      was    aux:pass    4 seen\n"
        "4      seen   root\n"
        "5      .      punct       4 seen\n"
        "\nconstituents\n"
        "(S (NP (DT The) (NN mouse)) (VP (VBD was) (VP (VBN seen))) (. .))\n"
    )
    assert main(["show", str(corpus), "--shard", "1", "--row", "1"]) == 0
    assert "dependencies\n(rejected by the parser)\n" in capsys.readouterr().out


def test_the_overview_counts_and_says_what_was_refused_and_cleaned(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    extra = {"cleaned": {"mojibake": 1}}
    write_rows(corpus / "sentences", "sentences", 2, [], extra=extra, drops={"too_long": 3})
    (corpus / "constituents-x" / "manifest.json").unlink()
    assert main([str(corpus), "-n", "1"]) == 0
    out = capsys.readouterr().out
    for part in (
        "rows  4 in 3 shards",
        "refused  too_long 3",
        "cleaned  paragraphs changed: mojibake 1",
        "refused  odd 1",
        "made by  tiny c0ffee",
        "incomplete  no manifest.json: the stage is still running or was killed",
        "0:0  first 0  The old owl",
    ):
        assert part in out


def test_the_schema_has_type_meaning_and_values_of_each_column(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["schema", str(corpus / "dependencies-x")]) == 0
    out = capsys.readouterr().out
    assert "  sentence_index: int32\n" in out  # of the sentences beside them
    assert "  heads: list<item: int16 not null>, may be null\n    position of each token" in out
    assert "    values: n numbers, 0 to n: 1-based in tokens" in out


def test_of_two_parses_of_a_kind_one_is_named(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (corpus / "dependencies-x").rename(corpus / "dependencies-x-0123456789ab")
    rows = [{"heads": None, "deprels": None}] * 4
    write_parse(corpus / "dependencies-x-small-0123456789ab", "dependencies", rows)

    def shown(*options: str) -> str:
        main(["show", str(corpus), *options])
        printed = capsys.readouterr()
        return printed.out + printed.err

    assert "several folders of dependencies: dependencies-x-0123456789ab, " in shown()
    assert "several stages begin with 'dependencies'" in shown("--stage", "dependencies")
    assert "nsubj" in shown("--stage", "dependencies-x")
    assert "nsubj" not in shown("--stage", "dependencies-x-small")


@pytest.mark.parametrize("command", ["overview", "show", "check", "query"])
def test_nothing_in_a_corpus_moves_the_cursor_or_forges_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    bad = "\x1b[2J\nfaults: none\x07"
    rows = [{"document_id": bad, "sentence_index": 0, "tokens": ["saw", bad]}]
    write_stage(tmp_path / "sentences", "sentences", rows)
    write_stage(
        tmp_path / "dependencies-x", "dependencies", [{"heads": [0, 1], "deprels": ["root", bad]}]
    )
    main([command, str(tmp_path), *(["SELECT * FROM corpus"] if command == "query" else [])])
    said = capsys.readouterr()
    assert not {"\x1b", "\x07"} & set(said.out + said.err)
    assert not any(line.startswith("faults: none") for line in said.out.splitlines())
