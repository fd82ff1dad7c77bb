"""Small sentence shards, and a stage over them that parses with the job of `tests.chain_job`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.manifests import write_dataset_manifest
from pipeline.schema import SENTENCES
from pipeline.shards import write_shard
from tasks.parsing import ParseDependencies, ParseShard
from tests.chain_job import MODULE


def write_sentences(folder: Path, num_shards: int, *, rows: int = 3) -> Path:
    """Writes sentence shards, each of other words, and their manifest; returns the folder."""
    for number in range(num_shards):
        records = [
            {
                "document_id": f"story-{number}",
                "sentence_index": row,
                "tokens": ["odd"] if row == 2 else [f"word-{number}"] * (1 + row % 4),
            }
            for row in range(rows)
        ]
        table = pa.Table.from_pylist(records, schema=SENTENCES)
        write_shard(folder, "sentences", number, table, drops={}, quarantine=[])
    write_dataset_manifest(folder, "sentences", config={})
    return folder


def write_chain_parser(folder: Path) -> Path:
    """Writes the files that tasks and `tests.chain_job` want of a parser; returns the folder."""
    folder.mkdir(parents=True)
    (folder / "parser.json").write_text("{}", encoding="utf-8")
    (folder / "weights.safetensors").write_bytes(b"none")
    return folder


class ChainShard(ParseShard):
    """Runs the chain parser's job."""

    job_module = MODULE


class ChainStage(ParseDependencies):
    """Parses with the chain parser."""

    shard_task = ChainShard
    more_options: dict[str, Any] = {}  # noqa: RUF012
    """What the job is told besides; set by a test."""

    @property
    def job_options(self) -> dict[str, Any]:
        return super().job_options | self.more_options


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
