"""``inspect check``: whatever is wrong with a corpus is named with where it stands."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import subcommand
from tests.support.edited_json import replace
from tests.support.looked_at_corpus import (
    BRACKETS,
    constituent_row,
    dependency_rows,
    sentence_rows_of,
)
from tests.support.shard_files import write_rows, write_stage
from treeviews.pipeline.shards.manifests import shard_path, write_dataset_manifest

check = subcommand("inspect", "check")


def said(corpus: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What is said of a corpus with faults."""
    assert check([str(corpus)]) == 1
    return capsys.readouterr().out


def test_a_good_corpus_is_right(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (corpus / "dependencies-x" / "00002.parquet.77.unfinished").write_bytes(b"PAR1")
    replace(corpus / "sentences" / "00001.json", '"seconds": 0.0', '"seconds": 7.0')
    assert check([str(corpus)]) == 0
    assert capsys.readouterr().out.startswith("all is right")
    assert check([str(corpus), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"right": True, "faults": [], "notes": []}


ARCS_AT_FAULT = [
    ({"heads": [3, 3, 4, 0, 7, 4, 5]}, "heads", "cycle"),
    ({"heads": [2, 0], "deprels": ["a", "b"]}, "heads", "2 heads and 2 relations for 7 tokens"),
    ({"deprels": None}, "deprels", "null, but other columns of the row are not"),
]
PHRASES_AT_FAULT = [
    ({"span_starts": [0, 2, 1, 4]}, "span_starts", "constituent 2 [1, 6)"),
    ({"span_labels": ["S", "NP|", "VP", "NP"]}, "span_starts", "'NP|' ends with '|'"),
    ({"binary_left": [-2, -1]}, "binary_left", "the binarization of the spans is ["),
]


@pytest.mark.parametrize(
    ("stage", "fields", "field", "problem"),
    [("dependencies", *fault) for fault in ARCS_AT_FAULT]
    + [("constituents", *fault) for fault in PHRASES_AT_FAULT],
)
def test_a_row_that_is_no_tree_is_named(
    corpus: Path,
    capsys: pytest.CaptureFixture[str],
    stage: str,
    fields: dict[str, Any],
    field: str,
    problem: str,
) -> None:
    rows = dependency_rows()
    if stage == "constituents":
        rows = [constituent_row(brackets)[1] for brackets in BRACKETS]
    rows[0] |= fields
    write_rows(corpus / f"{stage}-x", stage, 0, rows[:2], extra=facts(corpus, stage))
    out = said(corpus, capsys)
    assert f"{stage}-x/00000.parquet row 0 field {field}: " in out
    assert problem in out


def facts(corpus: Path, stage: str) -> dict[str, Any]:
    extra: dict[str, Any] = json.loads((corpus / f"{stage}-x" / "00000.json").read_text())["extra"]
    return extra


def sentence(document: str, index: int, *tokens: str) -> dict[str, object]:
    return {"document_id": document, "sentence_index": index, "tokens": list(tokens)}


@pytest.mark.parametrize(
    ("shards", "problem"),
    [
        ([[sentence("a", 0, "a", "")]], "row 0 field tokens: no token, or an empty one"),
        ([[sentence("a", 3, "x")], [sentence("a", 3, "x")]], "00001.parquet row 0 field sentence_"),
        (
            [[sentence("a", 0, "x"), sentence("b", 0, "x")], [sentence("a", 1, "x")]],
            "row 0 field sentence_index: sentence 1 of 'a' stands apart from",
        ),
    ],
)
def test_sentences_stand_in_order_and_have_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], shards: list[Any], problem: str
) -> None:
    write_stage(tmp_path, "sentences", *shards)
    assert problem in said(tmp_path, capsys)


def _cut(corpus: Path) -> None:
    path = shard_path(corpus / "dependencies-x", 0)
    path.write_bytes(path.read_bytes()[:100])


def _flip(corpus: Path) -> None:
    path = shard_path(corpus / "dependencies-x", 0)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


def _write_shorter(corpus: Path) -> None:
    write_rows(corpus / "dependencies-x", "dependencies", 0, dependency_rows()[:1])


def _write_other_sentences(corpus: Path) -> None:
    rows = [dict(row) for row in sentence_rows_of()]
    rows[0]["tokens"] = ["Another", "one"]
    write_rows(corpus / "sentences", "sentences", 0, rows[:2])


def _add_shard(corpus: Path) -> None:
    write_rows(corpus / "sentences", "sentences", 2, [sentence("z", 0, "x")])


def _of_another_parser(corpus: Path) -> None:
    replace(corpus / "dependencies-x" / "00001.json", "c0ffee", "tea")
    write_dataset_manifest(corpus / "dependencies-x", "dependencies", config={})


def _edit_records(corpus: Path) -> None:
    path = corpus / "dependencies-x" / "00001.quarantine.jsonl"
    path.write_text('{"row": 1, "reason": "odd"}\n', encoding="utf-8")


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a cut shard": (_cut, "00000.parquet: cannot be read ("),
    "a flipped bit": (_flip, "sha256 differs from its manifest's"),
    "fewer rows": (_write_shorter, "1 rows, the sentences have 2"),
    "another shard than listed": (_write_shorter, "lists another shard 0 than its own manifest"),
    "other sentences": (_write_other_sentences, "was parsed from other sentences"),
    "an unlisted shard": (_add_shard, "sentences: has shards [2], its manifest does not"),
    "too few shards": (_add_shard, "dependencies-x: lacks shards [2] of the sentences"),
    "several parsers": (_of_another_parser, "several parsers (c0ffee: [0]; tea: [1])"),
    "no stage manifest": (
        lambda corpus: (corpus / "dependencies-x" / "manifest.json").unlink(),
        "dependencies-x: no manifest.json: not complete",
    ),
    "no shard manifest": (
        lambda corpus: (corpus / "dependencies-x" / "00000.json").unlink(),
        "00000.parquet: has no manifest",
    ),
    "a broken manifest": (
        lambda corpus: (corpus / "dependencies-x" / "00000.json").write_text(""),
        "00000.json: not readable as a manifest",
    ),
    "a missing shard": (
        lambda corpus: shard_path(corpus / "dependencies-x", 0).unlink(),
        "00000.parquet: in the manifest but missing",
    ),
    "no sentences": (
        lambda corpus: shutil.rmtree(corpus / "sentences"),
        "no sentences here, which its parses are of",
    ),
    "records edited": (_edit_records, "00001.quarantine.jsonl: gone, or its sha256 differs"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_named(corpus: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    damage, problem = DAMAGE[name]
    damage(corpus)
    out = said(corpus, capsys)
    assert problem in out
    assert "fault" in out.splitlines()[-1]
