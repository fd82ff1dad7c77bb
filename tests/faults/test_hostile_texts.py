"""Hostile texts are split and parsed: each costs itself, and nothing behind it."""

# ruff: noqa: E501 (a line an item)

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import zstandard

from tests.support.splitting import split_sentences
from treeviews.pipeline.base.bundled import BUNDLED_PARSERS
from treeviews.pipeline.parsers.sentence_parser import load_parser
from treeviews.pipeline.parsing.parse_shard import PARSER_FAULTS, ParseJob, parse_shard
from treeviews.pipeline.shards.manifests import quarantine_path, read_dataset_manifest
from treeviews.pipeline.shards.shards import read_shard
from treeviews.pipeline.text.text_sources import TextFiles
from treeviews.pipeline.text.tokenization import SentenceConfig

pytestmark = pytest.mark.slow

WITNESS = b"The witness came home safely."
"""The paragraph behind what is hostile."""
END = b"\n\n" + WITNESS + b"\n"
JSON_END = b"\n" + json.dumps({"text": WITNESS.decode()}).encode() + b"\n"
PLAIN = b"A quiet line." + END
# fmt: off
TEXTS: tuple[tuple[str, str, bytes, str], ...] = (  # what it is, file's name, content, number of sentences kept and reasons of refusals
    ("an empty file", "a.txt", b"", "0 empty_file"),
    ("a zero byte far behind", "a.txt", b"Many plain words stand here, in a row. " * 220 + b"And a\0b." + END, "222"),
    ("a lone continuation byte", "a.txt", b"A \x80 here." + END, "1 undecodable"),
    ("escape sequences", "a.txt", b"A \x1b[31mred\x1b[0m \x1b]0;title\x07 line." + END, "2"),
    ("overrides of direction", "a.txt", "A \u202egnp.exe\u202c line.".encode() + END, "2"),
    ("a thousand accents", "a.txt", ("A z" + "\u0301" * 1000 + "algo line.").encode() + END, "1 long_token"),
    ("101 words", "a.txt", b"one two three four five six seven eight nine ten " * 10 + b"one." + END, "1 too_long"),
    ("brackets of treebanks", "a.txt", b"A -LRB- -RRB- (S (NP (DT A)) *T*-1 line." + END, "2"),
    ("columns of CoNLL-U", "a.txt", b"1\tA\ta\tDET\t_\t_\t2\tdet\t_\t_" + END, "2"),
    ("a line cut off", "a.jsonl", b'{"text": "A li' + JSON_END, "1 bad_json"),
    ("100,000 brackets", "a.jsonl", b"[" * 100_000 + JSON_END, "1 bad_json"),
    ("bytes that are not UTF-8", "a.jsonl", b'{"text": "A \xff line."}' + JSON_END, "1 undecodable"),
    ("gzip with a wrong checksum", "a.txt.gz", gzip.compress(PLAIN)[:-8] + bytes(8), "0 damaged_file"),
    ("64 MB of one letter", "a.txt.zst", zstandard.compress(b"a" * (64 << 20)), "0 giant_line"),
    ("names that a terminal obeys", "two\nlines \x1b[31m <script>.txt", PLAIN, "2"),
)
# fmt: on


def quarantine(folder: Path, number: int) -> list[dict[str, Any]]:
    return list(map(json.loads, quarantine_path(folder, number).read_text("utf-8").splitlines()))


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sentences of all texts, split together; the folder of each begins its documents' ids."""
    source, folder = tmp_path_factory.mktemp("texts"), tmp_path_factory.mktemp("work")
    for number, (_, name, content, _) in enumerate(TEXTS):
        (source / f"{number:03d}").mkdir()
        (source / f"{number:03d}" / name).write_bytes(content)
    split_sentences(TextFiles([source]), SentenceConfig(), folder / "sentences")
    return folder / "sentences"


def test_each_is_kept_or_refused_by_place_and_reason(split: Path) -> None:
    kept: dict[str, list[str]] = defaultdict(list)
    refused: dict[str, list[str]] = defaultdict(list)
    for shard in read_dataset_manifest(split, "sentences").shards:
        for row in read_shard(split, "sentences", shard.number).to_pylist():
            kept[row["document_id"][:3]].append(" ".join(row["tokens"]))
        for record in quarantine(split, shard.number):
            refused[record["document_id"][:3]].append(record["reason"])
            assert record["position"] and (record["detail"] or record["excerpt"])
    for number, (what, _, content, outcome) in enumerate(TEXTS):
        key = f"{number:03d}"
        assert " ".join([str(len(kept[key])), *refused[key]]) == outcome, what
        if WITNESS in content and kept[key]:
            assert "The witness came home safely ." in kept[key], what


@pytest.mark.parametrize("stage", BUNDLED_PARSERS)
def test_what_is_kept_is_parsed(stage: str, split: Path, tmp_path: Path) -> None:
    parser = load_parser(BUNDLED_PARSERS[stage], stage)
    for shard in read_dataset_manifest(split, "sentences").shards:
        parse_shard(
            ParseJob(stage=stage, sentences=split, output=tmp_path, number=shard.number), parser
        )
        parsed = read_shard(tmp_path, stage, shard.number).column(0)
        reasons = {r["row"]: r["reason"] for r in quarantine(tmp_path, shard.number)}
        assert len(parsed) == shard.rows
        assert {row for row, one in enumerate(parsed) if not one.is_valid} == reasons.keys()
        assert PARSER_FAULTS.isdisjoint(reasons.values())
