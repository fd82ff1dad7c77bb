"""``inspect schema``, and what is said of files that are no whole shards."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.shards.manifests import shard_path
from pipeline.shards.schema import DESCRIBED, SCHEMA_VERSION
from tests.support.command import subcommand
from tests.support.looked_at_corpus import write_looked_at
from tests.support.shard_files import sentence_rows, stage_table, write_stage

main = subcommand("inspect")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_looked_at(tmp_path / "corpus")


def test_every_column_is_told_with_meaning_values_and_bytes(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["schema", str(corpus), "--json"]) == 0
    stages = {stage["stage"]: stage for stage in json.loads(capsys.readouterr().out)}

    assert list(stages) == ["sentences", "dependencies", "constituents"]
    for name, stage in stages.items():
        assert (stage["version"], stage["shards"]) == (SCHEMA_VERSION, 2)
        assert (stage["rows"], stage["row_groups"]) == (4, 2)
        assert [c["name"] for c in stage["columns"]] == [c.name for c in DESCRIBED[name]]
        for column in stage["columns"]:
            assert column["meaning"] and column["values"] and column["type"]
            assert column["compression"] == ["zstd"]
            assert 0 < column["bytes"] < stage["bytes"]
    tokens = stages["sentences"]["columns"][2]
    assert (tokens["type"], tokens["num_values"]) == ("list of text", 7 + 2 + 5 + 2)


def test_columns_are_told_in_lines(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", str(corpus / "dependencies-x")]) == 0
    out = capsys.readouterr().out
    assert "  version 1, 4 rows in 2 shards and 2 row groups, " in out
    assert "  heads: list of int16, may be null\n    position of each token's head; null" in out
    assert "    values: n numbers, 0 to n: 1-based in tokens, 0 for the root" in out


def test_the_type_of_vectors_is_that_of_the_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from pipeline.shards.schema import Vectors
    from pipeline.shards.shards import ShardWriter

    vectors = Vectors(3, "float16")
    table = pa.table({"embedding": pa.array([[1, 2, 3]], vectors.schema().field(0).type)})
    with ShardWriter(tmp_path / "embeddings-x", "embeddings", 0, vectors=vectors) as writer:
        writer.write(table)
        writer.finish(drops={}, quarantine=[])
    assert main(["schema", str(tmp_path)]) == 0
    assert "embedding: 3 x float16, may be null" in capsys.readouterr().out


COMMANDS = ("head", "show", "stats", "check", "schema", "grep")


def said(command: str, path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """What a command says of a file that is not right; `check` lists it where it knows a stage."""
    code = main([command, str(path), *options])
    printed = capsys.readouterr()
    assert code == (1 if command == "check" and path.is_dir() else 2), (command, printed)
    return printed.out + printed.err


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("stage", ["sentences", "dependencies", "constituents"])
def test_a_shard_without_a_column_is_named_with_the_column_and_the_remedy(
    corpus: Path, capsys: pytest.CaptureFixture[str], command: str, stage: str
) -> None:
    folder = corpus / (stage if stage == "sentences" else f"{stage}-x")
    path = shard_path(folder, 0)
    last = DESCRIBED[stage][-1].name
    table = pq.ParquetFile(path).read().drop_columns([last])
    _replace(path, table)
    asked = {"dependencies": ("--relation", "x"), "constituents": ("--label", "X")}
    found = said(command, corpus, capsys, *(asked.get(stage, ()) if command == "grep" else ()))
    assert f"{path}: has no column '{last}', only {DESCRIBED[stage][0].name}" in found
    assert f"delete 00000.parquet, 00000.json and manifest.json in {folder}" in found


@pytest.mark.parametrize("command", COMMANDS)
def test_a_column_of_another_type_is_named(
    corpus: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    path = shard_path(corpus / "sentences", 0)
    table = pq.ParquetFile(path).read()
    _replace(path, table.set_column(1, "sentence_index", table["sentence_index"].cast(pa.int64())))
    found = said(command, corpus, capsys)
    assert f"{path}: its column 'sentence_index' is int64, not int32; delete" in found


@pytest.mark.parametrize("command", COMMANDS)
def test_a_foreign_parquet_file_is_no_shard(
    corpus: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    path = shard_path(corpus / "sentences", 0)
    _replace(path, pa.table({"a": [1]}))
    found = said(command, corpus, capsys)
    assert f"{path}: a Parquet file of another program, not a shard of sentences; move it" in found


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("content", ["empty", "cut", "foreign"])
def test_a_lone_file_that_is_no_whole_shard_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, content: str
) -> None:
    path = tmp_path / "00000.parquet"
    pq.write_table(stage_table("sentences", sentence_rows([["a"]])), path)
    if content == "foreign":
        pq.write_table(pa.table({"a": [1]}), path)
    else:
        path.write_bytes(path.read_bytes()[: 400 if content == "cut" else 0])
    found = said(command, path, capsys)
    what = "not a shard of sentences" if content == "foreign" else "not a whole Parquet file ("
    assert f"error: {path}: " in found
    assert what in found


def test_a_shard_without_rows_has_nothing_to_show(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_stage(tmp_path, "sentences", [])
    for command in ("head", "stats", "check", "schema", "grep"):
        assert main([command, str(tmp_path)]) == 0
    assert main(["show", str(tmp_path)]) == 2
    assert "shard 0 has no row 0" in capsys.readouterr().err
    assert main(["html", str(tmp_path), "--out", str(tmp_path / "page.html")]) == 2
    assert f"{tmp_path}: no tree to draw" in capsys.readouterr().err
    write_stage(tmp_path / "corpus" / "sentences", "sentences", [])
    write_stage(tmp_path / "corpus" / "dependencies", "dependencies", [])
    page = tmp_path / "page.html"
    assert main(["html", str(tmp_path / "corpus"), "--out", str(page)]) == 2
    assert "corpus: no sentence is here" in capsys.readouterr().err


def _replace(path: Path, table: pa.Table) -> None:
    """Puts other rows in a shard's place, and their sum and size in its manifest."""
    from pipeline.base.digest import sha256_of_file
    from pipeline.base.json_files import write_sealed_json

    manifest = path.with_suffix(".json")
    value = json.loads(manifest.read_text("utf-8"))
    pq.write_table(table, path)
    del value["content_sha256"]
    changed = {"sha256": sha256_of_file(path), "bytes": path.stat().st_size}
    write_sealed_json(manifest, value | changed)
