"""The shard job: parses one sentence shard into the parsed shard of the same number and rows.

A shard is whole or absent, is always parsed from its first row in the same chunks, and so has the
same bytes whatever was killed before.
"""

from __future__ import annotations

import importlib.metadata
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.corpora.document import excerpt_of
from pipeline.flat_lists import FlatListColumn
from pipeline.job import Progress
from pipeline.parsers.base import MAX_TOKENS, Sentence, SentenceParser
from pipeline.rejection import Rejection
from pipeline.schema import schema_for
from pipeline.shards import ShardManifest, read_shard, read_shard_manifest, write_shard
from pipeline.trees.binarize import BINARIZATION_VERSION, binarize
from pipeline.trees.flat import validate_constituents, validate_heads
from pipeline.trees.parses import ConstituencyParse, DependencyParse

PARSED_STAGES = ("dependencies", "constituents")
CHUNK_ROWS = 1000
"""Sentences given to the parser at once; it makes its own batches of them."""

PARSING_VERSION = 1
"""Raised whenever this release makes other rows of the same sentences and parser."""

PARSER_FAULTS = frozenset({"parser_error", "invalid_tree"})
"""Reasons that lie in the parser, not in the sentence."""
TOLERATED_FAULTS = 10
TOLERATED_FAULT_SHARE = 0.01
"""A shard is refused where more rows fail than the number and, of its rows, the share."""

_LIBRARIES = {"dependencies": ("torch", "supar"), "constituents": ("torch", "benepar")}

Parse = DependencyParse | ConstituencyParse
Row = dict[str, Sequence[int] | Sequence[str]]


@dataclass(frozen=True, slots=True)
class ParseJob:
    """What to parse and where the result goes."""

    stage: str
    """``dependencies`` or ``constituents``."""
    sentences: Path
    """Folder of the sentence shards."""
    output: Path
    """Folder of the parsed shards."""
    number: int
    """Number of the shard, in both."""

    def __post_init__(self) -> None:
        if self.stage not in PARSED_STAGES:
            raise ValueError(f"unknown stage {self.stage!r}; known: {', '.join(PARSED_STAGES)}")
        if self.number < 0:
            raise ValueError(f"shard number is {self.number}; must be 0 or more")


def describe_parsing(stage: str) -> dict[str, Any]:
    """Returns all but sentences and parser that determines a stage's rows, for a digest.

    The libraries are not imported; a build's local mark (``+cpu``) makes no other version.

    Raises:
        ValueError: not a stage that parses.
    """
    if stage not in PARSED_STAGES:
        raise ValueError(f"unknown stage {stage!r}; known: {', '.join(PARSED_STAGES)}")
    described: dict[str, Any] = {"parsing_version": PARSING_VERSION, "max_tokens": MAX_TOKENS}
    if stage == "constituents":
        described["binarization_version"] = BINARIZATION_VERSION
    return described | {
        name: importlib.metadata.version(name).partition("+")[0] for name in _LIBRARIES[stage]
    }


def parse_shard(
    job: ParseJob, parser: SentenceParser[Parse], on_progress: Progress | None = None
) -> ShardManifest:
    """Parses one shard; returns its manifest, at once where the shard stands already.

    A sentence that the parser rejects, or gives no valid tree for (``invalid_tree``), keeps its
    row with nulls and is quarantined with its reason.

    Raises:
        FileNotFoundError: the sentence shard does not exist or is not complete.
        ValueError: it is damaged, or the output holds a shard by another parser or of other
            sentences.
        RuntimeError: the parser fails on more than a few sentences; nothing is written.
    """
    source = read_shard_manifest(job.sentences, job.number)
    if source is None:
        raise FileNotFoundError(
            f"{job.sentences}: shard {job.number} is not complete; run the sentence stage again"
        )
    identity = {
        "parser": parser.name,
        "parser_checksum": parser.checksum,
        "sentences_sha256": source.sha256,
    }
    standing = read_shard_manifest(job.output, job.number)
    if standing is not None:
        _check_identity(job, standing, identity)
        return standing
    started = time.monotonic()
    collector = _parse_rows(job, parser, on_progress)
    seconds = time.monotonic() - started
    return write_shard(
        job.output,
        job.stage,
        job.number,
        collector.to_table(),
        drops=Counter(record["reason"] for record in collector.quarantine),
        quarantine=collector.quarantine,
        extra=identity | {"sentences_per_second": round(source.rows / max(seconds, 1e-9), 1)},
        seconds=seconds,
    )


def _parse_rows(
    job: ParseJob, parser: SentenceParser[Parse], on_progress: Progress | None
) -> _Collector:
    """Returns the parses of all rows of the sentence shard."""
    started = time.monotonic()
    collector = _Collector(job.stage)
    table = read_shard(job.sentences, "sentences", job.number)
    for start in range(0, table.num_rows, CHUNK_ROWS):
        chunk = table.slice(start, CHUNK_ROWS).to_pylist()
        answers = parser.parse([row["tokens"] for row in chunk])
        for offset, (row, answer) in enumerate(zip(chunk, answers, strict=True)):
            collector.add(start + offset, row, answer)
        _check_faults(job, parser, collector.quarantine, table.num_rows)
        if on_progress is not None:
            _report(on_progress, start + len(chunk), table.num_rows, time.monotonic() - started)
    return collector


def _check_faults(
    job: ParseJob,
    parser: SentenceParser[Parse],
    quarantine: Sequence[dict[str, Any]],
    num_rows: int,
) -> None:
    """Ends the job where the parser, not the sentences, must be what is wrong.

    Raises:
        RuntimeError: names the first fault and the remedy.
    """
    faults = [record for record in quarantine if record["reason"] in PARSER_FAULTS]
    if len(faults) > max(TOLERATED_FAULTS, TOLERATED_FAULT_SHARE * num_rows):
        first = faults[0]
        raise RuntimeError(
            f"{job.sentences}: the parser {parser.name} failed on {len(faults)} sentences of shard "
            f"{job.number}, which has {num_rows}; first, at row {first['row']}: {first['reason']} "
            f"({first['detail']}); nothing was written: check the parser, its libraries and the "
            "device, then run the stage again"
        )


def _check_identity(job: ParseJob, standing: ShardManifest, identity: dict[str, str]) -> None:
    for key, value in identity.items():
        if standing.extra.get(key) != value:
            raise ValueError(
                f"{job.output}: shard {job.number} stands with {key} {standing.extra.get(key)!r}, "
                f"not {value!r}; delete the folder or choose another one"
            )


def _report(on_progress: Progress, done: int, total: int, seconds: float) -> None:
    rate = done / seconds if seconds else 0.0
    on_progress(done / total, f"{done:,} of {total:,} sentences, {rate:,.0f} a second")


class _Collector:
    """The columns and the quarantine of one parsed shard."""

    def __init__(self, stage: str) -> None:
        self._schema = schema_for(stage)
        self._columns = {field.name: FlatListColumn(field.type) for field in self._schema}
        self.quarantine: list[dict[str, Any]] = []

    def add(self, number: int, sentence: dict[str, Any], answer: Parse | Rejection) -> None:
        """Adds one row: the tree's columns, or nulls and a quarantine record."""
        row = answer if isinstance(answer, Rejection) else row_of(answer, sentence["tokens"])
        if isinstance(row, Rejection):
            self.quarantine.append(
                {
                    "row": number,
                    "document_id": sentence["document_id"],
                    "sentence_index": sentence["sentence_index"],
                    "reason": row.reason,
                    "detail": row.detail,
                    "excerpt": excerpt_of(" ".join(sentence["tokens"][:200])),
                }
            )
        for name, column in self._columns.items():
            column.append(None if isinstance(row, Rejection) else row[name])

    def to_table(self) -> pa.Table:
        """Returns the rows in the stage's schema."""
        arrays = [column.to_arrow() for column in self._columns.values()]
        return pa.Table.from_arrays(arrays, schema=self._schema)


def row_of(parse: Parse, tokens: Sentence) -> Row | Rejection:
    """Returns a parse's columns, or ``invalid_tree`` where it is no tree over these tokens."""
    if isinstance(parse, DependencyParse):
        if not len(parse.heads) == len(parse.deprels) == len(tokens):
            fault: str | None = (
                f"{len(parse.heads)} heads and {len(parse.deprels)} relations "
                f"for {len(tokens)} tokens"
            )
        else:
            fault = validate_heads(parse.heads)
        if fault is not None:
            return Rejection("invalid_tree", fault)
        return {"heads": parse.heads, "deprels": parse.deprels}
    fault = validate_constituents(parse, len(tokens))
    if fault is not None:
        return Rejection("invalid_tree", fault)
    try:
        tree = binarize(parse)
    except ValueError as error:  # a label that binarization keeps for itself
        return Rejection("invalid_tree", str(error))
    return {
        "span_starts": parse.starts,
        "span_ends": parse.ends,
        "span_labels": parse.labels,
        "tags": parse.tags,
        "binary_left": tree.left,
        "binary_right": tree.right,
    }
