"""Small sentence shards, and a stage that parses them with the job of `tests.support.chain_job`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.chain_job import MODULE
from tests.support.shard_files import sentence_rows, write_stage
from treeviews.tasks.parsing import ParseDependencies


def write_sentences(folder: Path, num_shards: int, *, rows: int = 3) -> Path:
    """Writes sentence shards, each of other words, and their manifest; returns the folder."""
    shards = [
        sentence_rows(
            [["odd"] if row == 2 else [f"word-{number}"] * (1 + row % 4) for row in range(rows)],
            document=f"story-{number}",
        )
        for number in range(num_shards)
    ]
    return write_stage(folder, "sentences", *shards)


def parser_description(kind: str = "", **more: Any) -> str:
    """Returns a ``parser.json`` that says no more than any must."""
    needed = {"format_version": 1, "kind": kind, "weights_sha256": "", "config": {}}
    return json.dumps({**needed, **more})


def write_chain_parser(folder: Path) -> Path:
    """Writes what tasks and `tests.support.chain_job` want of a parser; returns the folder."""
    folder.mkdir(parents=True)
    (folder / "parser.json").write_text(parser_description(), encoding="utf-8")
    (folder / "weights.safetensors").write_bytes(b"none")
    return folder


class ChainStage(ParseDependencies):
    """Parses with the chain parser."""

    job_module = MODULE
    more_options: dict[str, Any] = {}  # noqa: RUF012
    """What the job is told besides; set by a test."""

    def shard_job(self) -> dict[str, Any]:
        return super().shard_job() | self.more_options


def chain_stage(folder: Path, *, num_shards: int, **parameters: Any) -> ChainStage:
    """Returns the stage in ``folder/work``, over sentences that stand, with ``folder/parser``."""
    text = folder / "text.txt"
    text.write_text("The sentences below were written by hand.\n", encoding="utf-8")
    parser = folder / "chain"
    if not parser.exists():
        write_chain_parser(parser)
    stage = ChainStage(
        source="files",
        paths=str(text),
        dependency_parser=parser,
        **({"work_folder": folder / "work"} | parameters),
    )
    if not stage.sentences.complete():
        write_sentences(stage.sentences.folder, num_shards)
    return stage
