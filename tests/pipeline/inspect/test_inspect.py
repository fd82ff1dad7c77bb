from __future__ import annotations

import json
import shutil
import subprocess
import sys
from itertools import zip_longest
from pathlib import Path

import pyarrow as pa
import pytest

from pipeline.inspect.show import draw_binary, draw_constituents, draw_dependencies
from pipeline.shards.manifests import shard_path, write_dataset_manifest
from pipeline.trees.parses import ConstituencyParse
from tests.support.command import subcommand
from tests.support.edited_json import edit, replace
from tests.support.shard_files import write_rows, write_stage

main = subcommand("inspect")

TOKENS = [["She", "saw", "the", "owl"], ["Odd", "one"], ["Go"]]
SENTENCE_ROWS = [
    {"document_id": "a", "sentence_index": 0, "tokens": TOKENS[0]},
    {"document_id": "a", "sentence_index": 1, "tokens": TOKENS[1]},
    {"document_id": "b", "sentence_index": 0, "tokens": TOKENS[2]},
]
DEPENDENCY_ROWS = [
    {"heads": [2, 0, 4, 2], "deprels": ["nsubj", "root", "det", "obj"]},
    {"heads": None, "deprels": None},
    {"heads": [0], "deprels": ["root"]},
]
CONSTITUENT_ROWS = [
    {
        "span_starts": [0, 0, 1, 2],
        "span_ends": [4, 1, 4, 4],
        "span_labels": ["S", "NP", "VP", "NP"],
        "tags": ["PRP", "VBD", "DT", "NN"],
        "binary_left": [-1, -2, -3],
        "binary_right": [1, 2, -4],
    },
    {
        "span_starts": [0],
        "span_ends": [2],
        "span_labels": ["NP"],
        "tags": ["JJ", "NN"],
        "binary_left": [-1],
        "binary_right": [-2],
    },
    {
        "span_starts": [0],
        "span_ends": [1],
        "span_labels": ["S+VP"],
        "tags": ["VB"],
        "binary_left": [],
        "binary_right": [],
    },
]


def write(folder: Path, stage: str, rows: list[dict], drops=None, **extra) -> None:
    """Writes a stage of one shard; the refused rows of a parse are those of nulls, in order."""
    source = folder.parent / "sentences" / "00000.json"
    if stage != "sentences" and source.exists():
        extra.setdefault("sentences_sha256", json.loads(source.read_text())["sha256"])
    nulls = [number for number, row in enumerate(rows) if all(v is None for v in row.values())]
    reasons = [reason for reason, count in (drops or {}).items() for _ in range(count)]
    records = [
        {"reason": reason} | ({"row": row} if stage != "sentences" else {})
        for reason, row in zip_longest(reasons, nulls[: len(reasons)])
    ]
    write_rows(folder, stage, 0, rows, drops=drops or {}, quarantine=records, extra=extra)
    write_dataset_manifest(folder, stage, config={})


@pytest.fixture
def corpus(tmp_path) -> Path:
    cleaned = {"normalised": 2, "mojibake": 1}
    write(tmp_path / "sentences", "sentences", SENTENCE_ROWS, {"too_long": 1}, cleaned=cleaned)
    source = json.loads((tmp_path / "sentences" / "00000.json").read_text())["sha256"]
    facts = {"parser": "tiny", "parser_checksum": "c0ffee", "sentences_sha256": source}
    write(tmp_path / "dependencies-x", "dependencies", DEPENDENCY_ROWS, {"odd": 1}, **facts)
    write(tmp_path / "constituents-x", "constituents", CONSTITUENT_ROWS, **facts)
    return tmp_path


def changed(rows: list[dict], row: int, **fields) -> list[dict]:
    return [old | fields if number == row else old for number, old in enumerate(rows)]


def test_head_shows_sentences_and_parses(corpus, capsys):
    assert main(["head", str(corpus), "-n", "2"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "    0:0  a 0  She saw the owl",
        "         She←nsubj–saw saw←root–ROOT the←det–owl owl←obj–saw",
        "         (S (NP (PRP She)) (VP (VBD saw) (NP (DT the) (NN owl))))",
        "    0:1  a 1  Odd one",
        "         (rejected by the dependency parser)",
        "         (NP (JJ Odd) (NN one))",
    ]


def test_head_of_a_stage_that_is_still_running_shows_what_is_parsed(corpus, capsys):
    write_rows(corpus / "sentences", "sentences", 1, SENTENCE_ROWS, quarantine=None)
    assert main(["head", str(corpus / "dependencies-x")]) == 0
    assert "0:2  b 0  Go" in capsys.readouterr().out


def test_the_path_may_come_first_and_the_command_be_left_out(corpus, capsys):
    main([str(corpus), "head"])
    head = capsys.readouterr().out
    main([str(corpus)])
    overview = capsys.readouterr().out
    assert head.startswith("    0:0  a 0  She saw the owl")
    assert "tokens a row  mean 2.3" in overview
    assert "0:2  b 0  Go" in overview


@pytest.mark.parametrize("name", ["sentences", "sentences/00000.parquet"])
def test_a_stage_or_a_shard_can_be_looked_at(corpus, capsys, name):
    assert main(["head", str(corpus / name)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_a_parsed_stage_comes_with_the_sentences_beside_it(corpus, capsys):
    assert main(["head", str(corpus / "dependencies-x" / "00000.parquet"), "-n", "1"]) == 0
    out = capsys.readouterr().out
    assert "She saw the owl" in out
    assert "the←det–owl" in out


def test_dependencies_are_drawn_with_the_root_on_top():
    assert draw_dependencies(TOKENS[0], [2, 0, 4, 2], ["nsubj", "root", "det", "obj"]) == (
        "saw  2 root\n"
        "├── She  1 nsubj\n"
        "└── owl  4 obj\n"
        "    └── the  3 det"
    )  # fmt: skip


def test_constituents_are_drawn_with_tagged_words_as_leaves():
    parse = ConstituencyParse([0, 1], [3, 3], ["S", "VP"], ["PRP", "VBD", "RB"])
    assert draw_constituents(["She", "left", "early"], parse) == (
        "S\n"
        "├── PRP She\n"
        "└── VP\n"
        "    ├── VBD left\n"
        "    └── RB early"
    )  # fmt: skip


def test_binary_trees_are_drawn_by_number():
    assert draw_binary(["a", "b", "c"], [1, -1], [-3, -2]) == (
        "(0)\n"
        "├── (1)\n"
        "│   ├── a\n"
        "│   └── b\n"
        "└── c"
    )  # fmt: skip
    assert draw_binary(["alone"], [], []) == "alone"


def test_a_tree_as_deep_as_a_sentence_is_long_is_drawn():
    n = 3000
    drawn = draw_dependencies(["w"] * n, [0, *range(1, n)], ["x"] * n)
    assert len(drawn.splitlines()) == n


def test_show_draws_all_trees(corpus, capsys):
    assert main(["show", str(corpus), "--row", "0", "--binary"]) == 0
    out = capsys.readouterr().out
    for part in ("saw  2 root", "└── VP", "binarized\n(0)\n├── She"):
        assert part in out


def test_show_says_what_was_rejected(corpus, capsys):
    main(["show", str(corpus), "--row", "1"])
    assert "dependencies\n(rejected by the parser)" in capsys.readouterr().out


@pytest.mark.parametrize("row", ["3", "-1"])
def test_show_of_a_row_that_is_not_there_is_an_error(corpus, capsys, row):
    assert main(["show", str(corpus), "--row", row]) == 2
    assert f"shard 0 has no row {row}" in capsys.readouterr().err


def test_stats_count_rows_lengths_labels_and_refusals(corpus, capsys):
    assert main(["stats", str(corpus)]) == 0
    out = capsys.readouterr().out
    for part in (
        "3 in 1 shard",
        "refused  too_long 1 (25.0%)",
        "cleaned  paragraphs changed: mojibake 1, normalised 2\n",
        "refused  odd 1 (33.3%)",
        "documents  2",
        "tokens  7",
        "from 1 to 4",
        "relations  root 2 (40.0%), det 1",
        "labels  NP 3 (50.0%)",
        "tiny c0ffee",
    ):
        assert part in out, part


def test_check_of_a_good_corpus_says_so(corpus, capsys):
    assert main(["check", str(corpus)]) == 0
    assert capsys.readouterr().out.startswith("all is right")


DEPENDENCY_FAULTS = [
    ({"heads": [2, 0, 4, 3]}, "heads", "cycle"),
    ({"heads": [0, 0, 4, 2]}, "heads", "2 roots"),
    ({"heads": [2, 0, 9, 2]}, "heads", "outside 0 to 4"),
    ({"heads": [2, 0], "deprels": ["a", "b"]}, "heads", "2 heads for 4 tokens"),
    ({"deprels": ["root"]}, "deprels", "1 relations for 4 heads"),
    ({"deprels": None}, "deprels", "null, but heads is not"),
]
CONSTITUENT_FAULTS = [
    ({"span_starts": [0, 1, 1, 2]}, "span_starts", "constituent"),
    ({"span_ends": [3, 1, 4, 4]}, "span_starts", "not the whole sentence"),
    ({"tags": ["PRP"]}, "span_starts", "1 tags for 4 tokens"),
    ({"binary_left": [-2, -1, -3]}, "binary_left", "the binarization of the spans is [-1, -2, -3]"),
    ({"span_ends": [4, 1, 3, 4]}, "span_starts", "constituent 3 [2, 4) crosses another one"),
    ({"span_labels": ["S", "NP|", "VP", "NP"]}, "span_labels", "'NP|' ends with '|'"),
    ({"binary_right": [1, 2, -5]}, "binary_right", "the binarization of the spans is [1, 2, -4]"),
    ({"binary_left": [-1, -2]}, "binary_left", "the binarization of the spans is [-1, -2, -3]"),
]


@pytest.mark.parametrize(
    ("stage", "fault"),
    [("dependencies", fault) for fault in DEPENDENCY_FAULTS]
    + [("constituents", fault) for fault in CONSTITUENT_FAULTS],
)
def test_check_names_shard_row_and_field(corpus, capsys, stage, fault):
    fields, field, problem = fault
    rows = DEPENDENCY_ROWS if stage == "dependencies" else CONSTITUENT_ROWS
    drops = {"odd": 1} if stage == "dependencies" else {}
    write(corpus / f"{stage}-x", stage, changed(rows, 0, **fields), drops)
    assert main(["check", str(corpus)]) == 1
    out = capsys.readouterr().out
    assert f"{stage}-x/00000.parquet row 0 field {field}: " in out
    assert problem in out
    assert "1 fault" in out


@pytest.mark.parametrize(
    ("fields", "field", "problem"),
    [
        ({"tokens": []}, "tokens", "no token"),
        ({"tokens": ["a", ""]}, "tokens", "token 2 is empty"),
        ({"document_id": "a"}, "sentence_index", "0 follows 1 in one document"),
    ],
)
def test_check_of_sentences(corpus, capsys, fields, field, problem):
    write(corpus / "sentences", "sentences", changed(SENTENCE_ROWS, 2, **fields))
    assert main(["check", str(corpus / "sentences")]) == 1
    assert f"row 2 field {field}: {problem}" in capsys.readouterr().out


def test_check_finds_a_document_torn_apart(tmp_path, capsys):
    rows = [{"document_id": name, "sentence_index": 0, "tokens": ["x"]} for name in "aba"]
    write(tmp_path, "sentences", rows)
    main(["check", str(tmp_path)])
    assert "row 2 field document_id: 'a' goes on after" in capsys.readouterr().out


def sentence(document: str, index: int) -> dict[str, object]:
    return {"document_id": document, "sentence_index": index, "tokens": ["x"]}


def test_check_follows_documents_over_shards(tmp_path, capsys):
    write_stage(tmp_path, "sentences", [sentence("a", 0), sentence("b", 0)], [sentence("b", 2)])
    assert main(["check", str(tmp_path)]) == 0
    write_stage(tmp_path, "sentences", [sentence("a", 0), sentence("b", 3)], [sentence("b", 3)])
    assert main(["check", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "00001.parquet row 0 field sentence_index: 3 follows 3 in one document" in out
    write_stage(tmp_path, "sentences", [sentence("a", 0), sentence("b", 0)], [sentence("a", 1)])
    assert main(["check", str(tmp_path)]) == 1
    assert "00001.parquet row 0 field document_id: 'a' goes on after" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"reason": "odd"}\n{"reason": "odd"}\n', "2 records of 'odd', the manifest says 1"),
        ('{"reason": "rare"}\n', "1 records of 'rare', the manifest says 0"),
        ("", "0 records of 'odd', the manifest says 1"),
        ('{"reason"', "cannot be read (line 1: JSONDecodeError"),
        ('{"row": 1}\n', "cannot be read (line 1: KeyError: 'reason'); delete"),
        (None, "is missing; delete 00000.parquet, 00000.json and manifest.json in"),
    ],
)
def test_check_counts_the_quarantine_s_records(corpus, capsys, text, problem):
    path = corpus / "dependencies-x" / "00000.quarantine.jsonl"
    path.unlink()
    if text is not None:
        path.write_text(text, encoding="utf-8")
    assert main(["check", str(corpus)]) == 1
    assert f"{path}: {problem}" in capsys.readouterr().out


def test_check_asks_no_records_of_sentences_that_were_selected(tmp_path):
    write_rows(tmp_path, "sentences", 0, SENTENCE_ROWS, drops={"kept_intact": 7}, quarantine=None)
    write_dataset_manifest(tmp_path, "sentences", config={})
    assert main(["check", str(tmp_path)]) == 0


def test_check_asks_records_of_every_refused_parse(corpus, capsys):
    write_rows(
        corpus / "dependencies-x",
        "dependencies",
        0,
        DEPENDENCY_ROWS,
        drops={"odd": 1},
        quarantine=None,
    )
    write_dataset_manifest(corpus / "dependencies-x", "dependencies", config={})
    assert main(["check", str(corpus)]) == 1
    assert "says {'odd': 1} were refused, but keeps no record" in capsys.readouterr().out


def test_check_compares_the_numbers_of_shards(corpus, capsys):
    write_rows(corpus / "sentences", "sentences", 1, [sentence("c", 0)])
    write_dataset_manifest(corpus / "sentences", "sentences", config={})
    assert main(["check", str(corpus)]) == 1
    out = capsys.readouterr().out
    assert "dependencies-x: lacks shards [1] of the sentences" in out
    assert "constituents-x: lacks shards [1] of the sentences" in out
    assert "2 faults" in out


def test_check_finds_parses_without_sentences(corpus, capsys):
    write_rows(corpus / "dependencies-x", "dependencies", 1, DEPENDENCY_ROWS[:1])
    write_dataset_manifest(corpus / "dependencies-x", "dependencies", config={})
    assert main(["check", str(corpus)]) == 1
    assert "has shards [1], the sentences do not" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["stats", "check"])
def test_a_parser_s_own_failures_are_mentioned(corpus, capsys, command):
    folder = corpus / "dependencies-x"
    assert main([command, str(folder)]) == 0
    assert "own fault" not in capsys.readouterr().out
    write(folder, "dependencies", DEPENDENCY_ROWS, {"parser_error": 1})
    assert main([command, str(folder)]) == 0
    assert "1 rows by the parser's own fault" in capsys.readouterr().out


def test_a_broken_manifest_is_named_with_its_remedy(corpus, capsys):
    path = corpus / "dependencies-x" / "00000.json"
    path.write_text("")
    assert main(["check", str(corpus)]) == 1
    assert f"cannot be read ({path}: not readable as a manifest" in capsys.readouterr().out
    assert main(["stats", str(corpus)]) == 2
    error = capsys.readouterr().err
    assert f"{path}: not readable as a manifest" in error
    assert "delete it and manifest.json beside it and run the stage again" in error


def test_check_finds_stages_of_different_length(corpus, capsys):
    write(corpus / "dependencies-x", "dependencies", DEPENDENCY_ROWS[:2], {"odd": 1})
    assert main(["check", str(corpus)]) == 1
    assert "2 rows, the sentences have 3" in capsys.readouterr().out


def test_check_finds_parses_of_other_sentences(corpus, capsys):
    write(corpus / "sentences", "sentences", changed(SENTENCE_ROWS, 2, tokens=["Stop"]))
    assert main(["check", str(corpus)]) == 1
    assert "parsed from other sentences" in capsys.readouterr().out


def test_check_finds_changed_and_cut_files(corpus, capsys):
    path = shard_path(corpus / "dependencies-x", 0)
    path.write_bytes(path.read_bytes()[:100])
    manifest = corpus / "constituents-x" / "00000.json"
    replace(manifest, '"sha256": "', '"sha256": "0')
    assert main(["check", str(corpus / "constituents-x")]) == 1
    out = capsys.readouterr().out
    assert "sha256 differs from its manifest's; delete 00000.parquet, 00000.json and manif" in out
    assert main(["check", str(path)]) == 1
    assert f"{path}: sha256 differs" in capsys.readouterr().out
    assert main(["stats", str(path)]) == 2
    assert capsys.readouterr().err.startswith(f"error: {path}: sha256 differs")


def test_check_finds_missing_manifests(corpus, capsys):
    (corpus / "sentences" / "manifest.json").unlink()
    (corpus / "dependencies-x" / "00000.json").unlink()
    assert main(["check", str(corpus)]) == 1
    out = capsys.readouterr().out
    assert "sentences: no manifest.json: not complete" in out
    assert "dependencies-x/00000.parquet: has no manifest" in out


def test_check_shows_no_more_than_asked_for(corpus, capsys):
    rows = [{"heads": [5], "deprels": ["x"]}] * 3
    write(corpus / "dependencies-x", "dependencies", rows)
    assert main(["check", str(corpus / "dependencies-x"), "--max-faults", "1"]) == 1
    assert "and 2 more" in capsys.readouterr().out


@pytest.mark.parametrize("sidecar", [True, False])
def test_check_finds_a_stage_s_only_shard_missing(corpus, capsys, sidecar):
    path = shard_path(corpus / "dependencies-x", 0)
    path.unlink()
    if not sidecar:
        path.with_suffix(".json").unlink()
    assert main(["check", str(corpus)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{path}: in the manifest but missing; delete the folder's manifest.json and run the "
        "stage again",
        "1 fault",
    ]
    assert main(["stats", str(corpus)]) == 0
    assert "incomplete  00000.parquet is in the manifest but missing" in capsys.readouterr().out
    for command in ("head", "show"):
        assert main([command, str(corpus)]) == 2
        assert f"incomplete: {path.parent}: 00000.parquet" in capsys.readouterr().out


def test_check_finds_a_shard_that_the_manifest_does_not_list(corpus, capsys):
    write_rows(corpus / "sentences", "sentences", 1, [sentence("c", 0)])
    assert main(["check", str(corpus / "sentences")]) == 1
    assert "sentences: has shards [1], its manifest does not" in capsys.readouterr().out


@pytest.mark.parametrize("content", [b"", b"words\n", None])
@pytest.mark.parametrize("manifests", [True, False])
def test_an_unreadable_shard_is_one_fault_among_others(corpus, capsys, content, manifests):
    path = shard_path(corpus / "constituents-x", 0)
    path.write_bytes(path.read_bytes()[:-20] if content is None else content)
    if not manifests:
        path.with_suffix(".json").unlink()
        (path.parent / "manifest.json").unlink()
    write(corpus / "dependencies-x", "dependencies", DEPENDENCY_ROWS[:2], {"odd": 1})
    assert main(["check", str(corpus)]) == 1
    out = capsys.readouterr().out
    assert "2 rows, the sentences have 3" in out
    assert f"{path}: " + ("sha256 differs" if manifests else "cannot be read") in out
    assert (
        f"delete 00000.parquet, 00000.json and manifest.json in {path.parent} and run the stage "
        "again"
    ) in out


@pytest.mark.parametrize("place", range(4, 700, 80))
def test_a_flipped_byte_is_a_fault_with_its_remedy(corpus, capsys, place):
    path = shard_path(corpus / "sentences", 0)
    content = bytearray(path.read_bytes())
    content[place] ^= 0xFF
    path.write_bytes(content)
    assert main(["check", str(corpus)]) == 1
    assert f"delete 00000.parquet, 00000.json and manifest.json in {path.parent}" in (
        capsys.readouterr().out
    )


def write_two_shards(corpus: Path) -> Path:
    """Adds a second shard of other sentences to the corpus, parsed by both parsers."""
    shards = {
        "sentences": [sentence("c", 0), sentence("c", 1)],
        "dependencies-x": [{"heads": [0], "deprels": ["root"]}] * 2,
        "constituents-x": CONSTITUENT_ROWS[2:] * 2,
    }
    extra: dict[str, str] = {}
    for name, rows in shards.items():
        stage = name.removesuffix("-x")
        facts = extra | ({"parser_checksum": "c0ffee"} if extra else {})
        shard = write_rows(corpus / name, stage, 1, rows, extra=facts)
        extra = extra or {"sentences_sha256": shard.sha256}
        write_dataset_manifest(corpus / name, stage, config={})
    return corpus


def swap(first: Path, second: Path) -> None:
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)


def test_check_names_a_stage_that_was_begun_and_has_no_shard(corpus, capsys):
    begun = corpus / "constituents-other"
    begun.mkdir()
    assert main(["check", str(corpus)]) == 0  # a folder is no stage
    (begun / "config.json").write_text("{}")
    capsys.readouterr()
    assert main(["check", str(corpus)]) == 1
    assert f"{begun}: was begun, but has no shard: not complete" in capsys.readouterr().out
    assert main(["check", str(begun)]) == 2
    assert f"was begun: {begun}: run the stage again" in capsys.readouterr().err


@pytest.mark.parametrize("fact", ["parser_checksum", "sentences_sha256"])
def test_check_compares_where_a_shard_comes_from_with_the_manifest(corpus, capsys, fact):
    path = write_two_shards(corpus) / "dependencies-x" / "00001.json"
    edit(path, lambda manifest: manifest["extra"].update({fact: "deadbeef"}))
    assert main(["check", str(corpus)]) == 1
    assert f"lists another shard 1 than its own manifest describes ({fact} d" in (
        capsys.readouterr().out
    )


def test_check_of_two_good_shards_says_so(corpus, capsys):
    assert main(["check", str(write_two_shards(corpus))]) == 0
    assert capsys.readouterr().out.startswith("all is right")


def test_check_finds_shards_that_were_swapped_with_all_that_belongs_to_them(corpus, capsys):
    folder = write_two_shards(corpus) / "dependencies-x"
    for ending in ("parquet", "json", "quarantine.jsonl"):
        swap(folder / f"00000.{ending}", folder / f"00001.{ending}")
    assert main(["check", str(corpus)]) == 1
    out = capsys.readouterr().out
    assert "00000.json: of shard 1: files were renamed; delete 00000.parquet, 00000.json" in out
    assert "00001.json: of shard 0: files were renamed" in out


def test_check_finds_a_shard_written_anew_behind_the_stage_s_manifest(corpus, capsys):
    folder = write_two_shards(corpus) / "sentences"
    write_rows(folder, "sentences", 1, [sentence("c", 0), sentence("d", 0)])
    assert main(["check", str(corpus)]) == 1
    out = capsys.readouterr().out
    assert "manifest.json lists another shard 1 than its own manifest describes (" in out
    assert "was parsed from other sentences" in out


def test_check_takes_a_shard_that_was_made_again_with_the_same_rows(corpus, capsys):
    folder = write_two_shards(corpus) / "sentences"
    path = folder / "00001.json"
    replace(path, '"seconds": 0.0', '"seconds": 7.0')
    main(["check", str(corpus)])
    assert "lists another shard" not in capsys.readouterr().out


def test_check_finds_shards_by_several_parsers(corpus, capsys):
    folder = write_two_shards(corpus) / "dependencies-x"
    path = folder / "00001.json"
    replace(path, "c0ffee", "tea")
    write_dataset_manifest(folder, "dependencies", config={})
    assert main(["check", str(corpus)]) == 1
    assert "has shards by several parsers (c0ffee: [0]; tea: [1])" in capsys.readouterr().out


def test_check_wants_to_know_which_sentences_were_parsed(corpus, capsys):
    path = corpus / "dependencies-x" / "00000.json"
    replace(path, "sentences_sha256", "sentences")
    assert main(["check", str(corpus)]) == 1
    assert "does not say from which sentences it was parsed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("record", "problems"),
    [
        ({"row": 0}, ["no record of row 1, which has no", "line 1 is of row 0, which does not"]),
        ({"row": 9}, ["no record of row 1, which has no", "line 1 is of row 9, which does not"]),
        ({"row": 1, "document_id": "b"}, ["line 1: document_id 'b', the sentence has 'a'"]),
        ({"row": 1, "sentence_index": 7}, ["line 1: sentence_index 7, the sentence has 1"]),
        (
            {"row": 1, "document_id": "a", "sentence_index": 1, "detail": "edited"},
            ["sha256 differs from its manifest's; delete 00000.parquet, 00000.json and"],
        ),
    ],
)
def test_check_compares_records_with_the_rows_without_a_parse(corpus, capsys, record, problems):
    path = corpus / "dependencies-x" / "00000.quarantine.jsonl"
    path.write_text(json.dumps({"reason": "odd"} | record) + "\n", encoding="utf-8")
    assert main(["check", str(corpus)]) == 1
    out = capsys.readouterr().out
    for problem in problems:
        assert f"{path}: {problem}" in out


def test_unfinished_files_are_no_faults(corpus, capsys):
    (corpus / "dependencies-x" / "00001.parquet.77.unfinished").write_bytes(b"PAR1")
    assert main(["check", str(corpus)]) == 0


def test_check_says_where_no_sentences_are_to_compare_with(corpus, capsys):
    shutil.rmtree(corpus / "sentences")
    assert main(["check", str(corpus / "dependencies-x")]) == 0
    capsys.readouterr()
    assert main(["check", str(corpus)]) == 1
    out = capsys.readouterr().out
    assert f"{corpus}: no sentences here, which its parses are of" in out
    assert out.splitlines()[-1] == "1 fault"
    for name in ("dependencies-x", "constituents-x"):
        note = f"note: {corpus / name}: alignment not checked: no sentences beside it"
        assert note in out.splitlines()


@pytest.mark.parametrize("command", ["stats", "head"])
def test_a_stage_without_its_manifest_is_shown_as_incomplete(corpus, capsys, command):
    assert main([command, str(corpus)]) == 0
    assert "incomplete" not in capsys.readouterr().out
    (corpus / "dependencies-x" / "manifest.json").unlink()
    assert main([command, str(corpus)]) == 0
    out = capsys.readouterr().out
    assert "no manifest.json: the stage is still running or was killed" in out
    assert "incomplete" in out


@pytest.mark.parametrize(
    ("name", "problem"), [("nowhere", "no such file or folder"), (".", "no shards here")]
)
def test_a_path_without_shards_is_an_error(tmp_path, capsys, name, problem):
    assert main(["stats", str(tmp_path / name)]) == 2
    assert capsys.readouterr().err.startswith(f"error: {tmp_path / name}: {problem}")


def test_a_parquet_file_that_is_no_shard_is_an_error(tmp_path, capsys):
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"x": [1]}), tmp_path / "00000.parquet")
    assert main(["head", str(tmp_path / "00000.parquet")]) == 2
    assert "not a shard of sentences" in capsys.readouterr().err


def test_the_module_runs_from_the_command_line(corpus):
    command = [sys.executable, "-m", "treeviews", "inspect", str(corpus), "check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("command", ["overview", "head", "show", "stats", "check"])
def test_nothing_in_a_corpus_moves_the_cursor_or_forges_a_line(tmp_path, capsys, command):
    bad = "\x1b[2J\nfaults: none\x07"
    rows = [{"document_id": bad, "sentence_index": 0, "tokens": ["saw", bad]}]
    write(tmp_path / "sentences", "sentences", rows, {bad: 1})
    source = json.loads((tmp_path / "sentences" / "00000.json").read_text())["sha256"]
    facts = {"parser": bad, "parser_checksum": bad, "sentences_sha256": source}
    parsed = [{"heads": [0, 1], "deprels": ["root", bad]}]
    write(tmp_path / "dependencies-x", "dependencies", parsed, **facts)
    main([command, str(tmp_path)])
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err
    assert "\x07" not in said.out + said.err
    assert not any(line.startswith("faults: none") for line in said.out.splitlines())
