"""The shard job: parses one sentence shard into the parsed shard of the same number and rows.

``python -m treeviews.pipeline.parsing.parse_shard JOB.json``, whose file holds a `ParseShardJob`:
``{"stage": "dependencies", "parser": "data/parsers/dependency", "sentences": FOLDER, "output":
FOLDER, "number": 0}``, and what else is not as it is by default.

A shard is whole or absent, is always parsed from its first row in the same pools, and so has the
same bytes whatever was killed before. One row group of it is in memory at a time: it is read,
parsed pool by pool and written, so memory does not grow with the shard.
"""

from __future__ import annotations

import functools
import importlib.metadata
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from treeviews.pipeline.base.job import Progress, Rated, in_part, run_from_command_line
from treeviews.pipeline.base.job_server import THREAD_VARIABLES
from treeviews.pipeline.base.refusal import Refusal, excerpt_of
from treeviews.pipeline.base.settings import Count, Natural, Option, Settings
from treeviews.pipeline.parsers.parser_files import ParsedStage, has_transformer
from treeviews.pipeline.parsers.sentence_parser import (
    MAX_TOKENS,
    ParserFailedError,
    ParserPrecision,
    Sentence,
    SentenceParser,
)
from treeviews.pipeline.shards.arrow import lists
from treeviews.pipeline.shards.manifests import (
    PARSED_FROM,
    ShardManifest,
    check_identity,
    read_shard_manifest,
    read_verified_manifest,
    shard_path,
)
from treeviews.pipeline.shards.schema import schema_for
from treeviews.pipeline.shards.shards import ShardWriter, read_row_groups
from treeviews.pipeline.trees.flat_trees import (
    BINARIZATION_VERSION,
    DependencyParse,
    Parse,
    binarize,
    validate_constituents,
    validate_heads,
)

PRELOADED = (
    "treeviews.pipeline.parsers.dependency_adapter",
    "treeviews.pipeline.parsers.chart_adapter",
)
POOL_ROWS = 5_000
POOL_TOKENS = 100_000
"""Sentences given to the parser at once, of which it makes batches of like length: as many as have
these rows and tokens at most. The second bounds what is held of a pool of very long ones."""

PARSING_VERSION = 1
"""Raised whenever this release makes other rows of the same sentences and parser."""

PARSER_FAULTS = frozenset({"parser_error", "invalid_tree", "out_of_memory"})
"""Reasons that lie in the parser or its machine, not in the sentence."""
TOLERATED_FAULTS = 10
TOLERATED_FAULT_SHARE = 0.01
"""A shard is refused where more rows fail than the number and, of its rows, the share."""

_LIBRARIES = {"dependencies": ("torch", "supar"), "constituents": ("torch", "benepar")}
TRANSFORMER_LIBRARIES = ("transformers", "tokenizers")
"""Of a parser with a transformer inside, beside those of its stage."""

Row = dict[str, Sequence[int] | Sequence[str]]


class ParseJob(Settings):
    """What to parse and where the result goes."""

    called: ClassVar[str] = "parse job field"

    stage: ParsedStage
    sentences: Path
    """Folder of the sentence shards."""
    output: Path
    """Folder of the parsed shards."""
    number: Natural
    """Number of the shard, in both."""


def describe_parsing(stage: str, *, kind: str = "") -> dict[str, Any]:
    """Returns all but sentences and parser that determines a stage's rows, for a digest.

    Args:
        kind: of the parser; empty where that is not known before it is converted.
    """
    described: dict[str, Any] = {"parsing_version": PARSING_VERSION, "max_tokens": MAX_TOKENS}
    if stage == "constituents":
        described["binarization_version"] = BINARIZATION_VERSION
    libraries: tuple[str, ...] = _LIBRARIES[stage]
    if has_transformer(kind):
        described["parser_kind"], libraries = kind, libraries + TRANSFORMER_LIBRARIES
    return described | library_versions(libraries)


def library_versions(names: Sequence[str]) -> dict[str, str]:
    """Returns the versions of installed libraries, which are not imported.

    A build's local mark (``+cpu``) makes no other version.
    """
    return {name: installed_version(name).partition("+")[0] for name in names}


installed_version = functools.cache(importlib.metadata.version)


def parse_shard(
    job: ParseJob,
    parser: SentenceParser[Parse],
    on_progress: Progress | None = None,
    *,
    machine: Mapping[str, Any] | None = None,
) -> ShardManifest:
    """Parses one shard; returns its manifest, at once where the shard stands already.

    A sentence that the parser rejects, or gives no valid tree for (``invalid_tree``), keeps its
    row with nulls and is quarantined with its reason.

    Args:
        machine: what the manifest is to say of how it was parsed, such as the device.

    Raises:
        FileNotFoundError: the sentence shard does not exist or is not complete.
        ValueError: it is damaged, or the output holds a shard by another parser or of other
            sentences.
        RuntimeError: the parser fails on more than a few sentences; nothing is written.
    """
    source = read_verified_manifest(job.sentences, job.number)
    if source is None:
        raise FileNotFoundError(
            f"{job.sentences}: shard {job.number} is not complete; run the sentence stage again"
        )
    identity = {
        "parser": parser.name,
        "parser_checksum": parser.checksum,
        PARSED_FROM: source.sha256,
    }
    standing = read_shard_manifest(job.output, job.number)
    if standing is not None:
        check_identity(job.output, standing, identity)
        return standing
    started = time.monotonic()
    with ShardWriter(job.output, job.stage, job.number) as writer:
        quarantine = _parse_rows(job, parser, source.rows, writer, on_progress)
        seconds = time.monotonic() - started
        rate = {"sentences_per_second": round(source.rows / max(seconds, 1e-9), 1)}
        return writer.finish(
            drops=Counter(record["reason"] for record in quarantine),
            quarantine=quarantine,
            extra=identity | dict(machine or {}) | rate,
            seconds=seconds,
        )


def _parse_rows(
    job: ParseJob,
    parser: SentenceParser[Parse],
    num_rows: int,
    writer: ShardWriter,
    on_progress: Progress | None,
) -> list[dict[str, Any]]:
    """Writes the parses of all rows of the sentence shard; returns what was refused."""
    started, schema = time.monotonic(), schema_for(job.stage)
    quarantine: list[dict[str, Any]] = []
    done = 0
    for group in read_row_groups(job.sentences, "sentences", job.number):
        columns: dict[str, list[Any]] = {name: [] for name in schema.names}
        for pool in _pools(group):
            sentences = pool.to_pylist()
            tokens = [sentence["tokens"] for sentence in sentences]
            try:
                answers = parser.parse(tokens)
            except ParserFailedError as error:
                row = next((n for n, of in enumerate(tokens, done) if of is error.sentence), done)
                raise RuntimeError(
                    f"{shard_path(job.sentences, job.number)}, row {row}: {error}. Of this shard "
                    "nothing was written, complete ones are kept: run the stage again"
                ) from error
            for number, (sentence, answer) in enumerate(zip(sentences, answers, strict=True), done):
                parse = row_of(answer, sentence["tokens"])
                if isinstance(parse, Refusal):
                    place = {key: sentence[key] for key in ("document_id", "sentence_index")}
                    refusal = replace(parse, excerpt=excerpt_of(sentence["tokens"]))
                    quarantine.append(refusal.record(row=number, **place))
                for name, column in columns.items():
                    column.append(None if isinstance(parse, Refusal) else parse[name])
            done += len(sentences)
            _check_faults(job, parser, quarantine, num_rows)
            if on_progress is not None:
                rate = done / max(time.monotonic() - started, 1e-9)
                status = f"{done:,} of {num_rows:,} sentences, {rate:,.0f} a second"
                on_progress(done / num_rows, Rated(status, rate))
        arrays = [lists(columns[field.name], field.type) for field in schema]
        writer.write(pa.Table.from_arrays(arrays, schema=schema))
    return quarantine


def _pools(rows: pa.Table) -> Iterator[pa.Table]:
    """Yields the rows in pools of at most `POOL_ROWS` and `POOL_TOKENS`, one row at least."""
    ends = np.cumsum(pc.list_value_length(rows["tokens"]).to_numpy())
    start = 0
    while start < rows.num_rows:
        tokens = POOL_TOKENS + (ends[start - 1] if start else 0)
        stop = min(start + POOL_ROWS, int(np.searchsorted(ends, tokens, side="right")))
        stop = max(stop, start + 1)
        yield rows.slice(start, stop - start)
        start = stop


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


def row_of(parse: Parse | Refusal, tokens: Sentence) -> Row | Refusal:
    """Returns a parse's columns, or ``invalid_tree`` where it is no tree over these tokens.

    What the parser rejected is returned as it is.
    """
    if isinstance(parse, Refusal):
        return parse
    if isinstance(parse, DependencyParse):
        fault = validate_heads(parse.heads)
        if not len(parse.heads) == len(parse.deprels) == len(tokens):
            fault = (
                f"{len(parse.heads)} heads and {len(parse.deprels)} relations "
                f"for {len(tokens)} tokens"
            )
        if fault is None:
            return {"heads": parse.heads, "deprels": parse.deprels}
        return Refusal("invalid_tree", fault)
    fault = validate_constituents(parse, len(tokens))
    try:
        tree = binarize(parse) if fault is None else None
    except ValueError as error:  # a label that binarization keeps for itself
        fault, tree = str(error), None
    if tree is None:
        return Refusal("invalid_tree", fault or "")
    return {
        "span_starts": parse.starts,
        "span_ends": parse.ends,
        "span_labels": parse.labels,
        "tags": parse.tags,
        "binary_left": tree.left,
        "binary_right": tree.right,
    }


class ParseShardJob(ParseJob):
    """Which shards to parse, by which parser, and how."""

    parser: Path
    """Folder of the parser."""
    device: str = "cpu"
    """``auto``, ``cpu`` or ``cuda``."""
    threads: Count = 1
    """CPU threads of torch, which reads them from the environment when imported. One, because two
    parsers with two threads each on two cores run many times slower than with one."""
    precision: Annotated[ParserPrecision, Option("parser_precision")] = "exact"
    """Arithmetic of the parsers: exact gives the same trees as the libraries; fast uses the
    precision that is fastest on the device and changes a few trees."""
    batch_tokens: Annotated[Natural, Option("parser_batch_tokens", is_significant=False)] = 0
    """Tokens per batch of a parser; 0: depends on the parser and the device, on a GPU on its free
    memory."""
    parser_checksum: str | None = None
    """Where given, a parser's folder of another checksum is refused."""
    count: Count = 1
    """Number of shards: ``number`` and those that follow it."""


def execute(job: ParseShardJob, on_progress: Progress) -> None:
    """Loads the parser and parses the shards that a job names.

    Raises:
        ValueError: this machine has no such device, a folder's content is not what it should be, or
            the parser not the expected one.
        FileNotFoundError: the sentence shard does not exist.
    """
    on_progress(0.0, "loading the parser")
    # torch reads the number of its threads when it is imported, which is in the next lines.
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(job.threads)))
    from treeviews.pipeline.parsers.devices import resolve_device
    from treeviews.pipeline.parsers.sentence_parser import load_parser

    device = resolve_device(job.device)
    parser = load_parser(
        job.parser,
        job.stage,
        device=device,
        precision=job.precision,
        batch_tokens=job.batch_tokens,
        expected_checksum=job.parser_checksum,
    )
    on_progress(0.0, "parsing")
    machine = {"device": device, "precision": job.precision}
    for done in range(job.count):
        one = job.changed(number=job.number + done)
        parse_shard(one, parser, in_part(on_progress, done, job.count), machine=machine)


if __name__ == "__main__":
    sys.exit(run_from_command_line(execute, kind=ParseShardJob))
