"""``check``: whether files, rows and trees are what manifests and schema say.

A stage's manifest is held against its shards, a shard's against its rows and its records of what
was refused, the stages against one another, and each row against what its stage means.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from treeviews.pipeline.base.digest import sha256_of_file
from treeviews.pipeline.inspect.aligned_rows import ROWS_AT_ONCE, tree_fault
from treeviews.pipeline.inspect.dataset import SENTENCES, Selection, StageFolder
from treeviews.pipeline.parsing.parse_shard import PARSER_FAULTS
from treeviews.pipeline.shards.arrow import vectors_of
from treeviews.pipeline.shards.manifests import (
    MANIFEST_NAME,
    PARSED_FROM,
    ShardManifest,
    is_parsed_from,
    manifest_beside,
    parser_problems,
    quarantine_path,
    read_dataset_manifest,
    read_shard_manifest,
    remedy,
    shard_path,
)
from treeviews.pipeline.shards.schema import EMBEDDING, EMBEDDINGS
from treeviews.pipeline.shards.shards import read_shard


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong."""

    path: Path
    """The shard's file, or a stage's folder."""
    problem: str
    row: int | None = None
    field: str | None = None

    def __str__(self) -> str:
        row = "" if self.row is None else f" row {self.row}"
        field = "" if self.field is None else f" field {self.field}"
        return f"{self.path}{row}{field}: {self.problem}"


def faults_of(selection: Selection) -> Iterator[Fault]:
    """Yields everything that is wrong with the stages of a selection."""
    sentences = selection.sentences
    for folder in selection.folders if selection.shard is None else ():
        yield from _stage_faults(folder, sentences)
    if sentences is None and not selection.is_one_stage:
        corpus = selection.folders[0].path.parent
        yield Fault(corpus, "no sentences here, which its parses are of; copy them here")
    for number in selection.numbers():
        for folder in selection.folders:
            if selection.shard is not None or shard_path(folder.path, number).exists():
                yield from _shard_faults(folder, number, sentences)
    if sentences is not None:
        yield from _order_faults(sentences, selection.numbers_in(sentences))


def notes_of(selection: Selection) -> Iterator[str]:
    """Yields what is not wrong but should be known: what went unchecked, a parser's failures."""
    for folder in selection.parses if selection.sentences is None else ():
        yield f"note: {folder.path}: alignment not checked: no sentences beside it"
    for folder in selection.folders:
        manifests = []
        for number in selection.numbers_in(folder):
            with suppress(ValueError):  # named as a fault already
                manifests.append(read_shard_manifest(folder.path, number))
        failures = parser_failures(folder, [manifest for manifest in manifests if manifest])
        if failures:
            yield f"note: {folder.path}: {failures}"


def parser_failures(folder: StageFolder, manifests: Iterable[ShardManifest]) -> str:
    """Returns how many sentences failed in the parser and where they stand, or nothing."""
    count = sum(m.drops.get(reason, 0) for m in manifests for reason in PARSER_FAULTS)
    if not count:
        return ""
    where = folder.path / "*.quarantine.jsonl"
    return f"{count:,} rows by the parser's own fault; their details stand in {where}"


def _stage_faults(folder: StageFolder, sentences: StageFolder | None) -> Iterator[Fault]:
    """Compares a stage's manifest with the shards that are there, and these with the sentences'."""
    again = f"delete {MANIFEST_NAME} and run the stage again"
    present, missing = set(folder.numbers()), set(folder.missing())
    for number in sorted(missing):
        yield Fault(shard_path(folder.path, number), f"in the manifest but missing; {again}")
    try:
        shards = read_dataset_manifest(folder.path, folder.stage).shards
    except FileNotFoundError:
        yield Fault(folder.path, f"no {MANIFEST_NAME}: not complete; run the stage again")
    except ValueError as error:
        yield Fault(folder.path / MANIFEST_NAME, f"cannot be used ({error})")
    else:
        if unlisted := present.difference(shard.number for shard in shards):
            yield Fault(folder.path, f"has shards {sorted(unlisted)}, its manifest does not")
        for listed in shards:
            with suppress(ValueError):  # named where the shard is read
                own = read_shard_manifest(folder.path, listed.number)
                if own is not None and _origin(own) != _origin(listed):
                    problem = f"{MANIFEST_NAME} lists another shard {listed.number} than its own"
                    yield Fault(folder.path, f"{problem} manifest describes; {again}")
        for problem in parser_problems(shards):
            yield Fault(folder.path, problem)
    if sentences is not None:  # what is missing by a stage's own manifest is named already
        expected = {*sentences.numbers(), *sentences.missing()}
        if lacking := expected - present - missing:
            yield Fault(folder.path, f"lacks shards {sorted(lacking)} of the sentences")
        if more := (present | missing) - expected:
            yield Fault(folder.path, f"has shards {sorted(more)}, the sentences do not")


def _origin(shard: ShardManifest) -> tuple[object, ...]:
    """Returns what two manifests of a shard agree in: its content, and where that comes from.

    Not how long it took: the same rows may have been made twice, on two machines.
    """
    extra = (shard.extra.get("parser_checksum"), shard.extra.get(PARSED_FROM))
    return shard.sha256, shard.rows, shard.drops, shard.quarantine_sha256, extra


def _shard_faults(
    folder: StageFolder, number: int, sentences: StageFolder | None
) -> Iterator[Fault]:
    """Checks one shard: its manifest, its records, its sentences, its rows."""
    path = shard_path(folder.path, number)
    try:
        manifest = manifest_beside(folder.path, number)
        table = read_shard(folder.path, folder.stage, number)
    except (ValueError, OSError) as error:
        yield Fault(path, f"cannot be read ({error})")
        return
    if manifest is None:
        yield Fault(path, f"has no manifest: it is not complete; {remedy(path)}")
        return
    if table.num_rows != manifest.rows:
        yield Fault(path, f"{table.num_rows} rows, its manifest says {manifest.rows}")
    yield from _refusal_faults(path, manifest, table.column(0).null_count)
    tokens = None
    if sentences is not None and folder != sentences:
        yield from _alignment_faults(path, manifest, sentences)
        with suppress(ValueError, OSError):  # named where the sentences are checked
            tokens = read_shard(sentences.path, SENTENCES, number, ["tokens"])["tokens"]
            if len(tokens) != table.num_rows:
                yield Fault(path, f"{table.num_rows} rows, the sentences have {len(tokens)}")
                return
    for row, field, problem in _row_faults(folder.stage, table, tokens):
        yield Fault(path, problem, row, field)


def _refusal_faults(path: Path, manifest: ShardManifest, nulls: int) -> Iterator[Fault]:
    """Compares what a manifest says was refused with the rows and the records beside them."""
    refused, is_parse = sum(manifest.drops.values()), manifest.stage != SENTENCES
    if is_parse and nulls != refused:
        yield Fault(path, f"{nulls} rows of nulls, its manifest says that {refused} were refused")
    records = quarantine_path(path.parent, manifest.number)
    if not manifest.has_quarantine:
        if is_parse and refused:
            problem = f"says that {manifest.drops} were refused, but keeps no record of them"
            yield Fault(records, f"the manifest {problem}")
        return
    try:
        counts = Counter(reason for _, reason, _ in read_refusals(records))
    except (FileNotFoundError, ValueError) as error:
        yield Fault(records, f"cannot be read ({error}); {remedy(path)}")
        return
    if manifest.quarantine_sha256 and sha256_of_file(records) != manifest.quarantine_sha256:
        yield Fault(records, f"sha256 differs from its manifest's; {remedy(path)}")
    elif counts != Counter(manifest.drops):
        yield Fault(records, f"has records of {dict(counts)}, its manifest says {manifest.drops}")


def read_refusals(path: Path) -> Iterator[tuple[int | None, str, str]]:
    """Yields the row, the reason and the detail of each sentence that a shard refused.

    Sentences that were refused before they had a row have None.

    Raises:
        ValueError: a line is no such record; names it.
    """
    with path.open(encoding="utf-8") as stream:
        for number, line in enumerate(stream, start=1):
            try:
                record = json.loads(line)
                yield record.get("row"), str(record["reason"]), str(record.get("detail", ""))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise ValueError(f"line {number}: {type(error).__name__}: {error}") from error


def _alignment_faults(
    path: Path, manifest: ShardManifest, sentences: StageFolder
) -> Iterator[Fault]:
    """Checks that a parsed shard is of the sentences beside it."""
    if PARSED_FROM not in manifest.extra:
        yield Fault(path, "its manifest does not say from which sentences it was parsed")
        return
    with suppress(ValueError):  # named where the sentences are checked
        source = read_shard_manifest(sentences.path, manifest.number)
        if source is not None and not is_parsed_from(manifest, source):
            problem = "was parsed from other sentences than those beside it"
            yield Fault(path, f"{problem}; {remedy(path)}")


def _row_faults(
    stage: str, table: pa.Table, tokens: pa.ChunkedArray | None
) -> Iterator[tuple[int, str, str]]:
    """Yields (row, field, problem).

    Args:
        table: all of the stage's columns.
        tokens: of the sentences they are parses of, where these are at hand.
    """
    for start in range(0, table.num_rows, ROWS_AT_ONCE):
        rows = table.slice(start, ROWS_AT_ONCE)
        if stage == EMBEDDINGS:
            vectors, _ = vectors_of(rows[EMBEDDING])
            for position in np.flatnonzero(~np.isfinite(vectors).all(axis=1)).tolist():
                yield start + position, EMBEDDING, "has a number that is not finite"
            continue
        words: list[list[str] | None] = [None] * rows.num_rows
        if tokens is not None:
            words = tokens.slice(start, ROWS_AT_ONCE).to_pylist()
        for position, (row, own) in enumerate(zip(rows.to_pylist(), words, strict=True), start):
            if stage != SENTENCES:
                fault = tree_fault(stage, row, own)
            elif not row["tokens"]:
                fault = "tokens", "no token"
            else:
                empty = [number for number, token in enumerate(row["tokens"], 1) if not token]
                fault = ("tokens", f"token {empty[0]} is empty") if empty else None
            if fault is not None:
                yield position, *fault


def _order_faults(sentences: StageFolder, numbers: Iterable[int]) -> Iterator[Fault]:
    """Yields where a document is torn, or its indices do not rise, over shards in their order."""
    seen: set[str] = set()
    document, index = None, -1
    for number in numbers:
        path = shard_path(sentences.path, number)
        try:
            table = read_shard(sentences.path, SENTENCES, number, ["document_id", "sentence_index"])
        except (ValueError, OSError):  # named where the shard is read
            continue
        places = (column.to_pylist() for column in table.columns)
        for row, (name, position) in enumerate(zip(*places, strict=True)):
            if name != document and name in seen:
                problem = f"{name!r} goes on after another document"
                yield Fault(path, problem, row, "document_id")
            elif name == document and position <= index:
                problem = f"{position} follows {index} in one document"
                yield Fault(path, problem, row, "sentence_index")
            seen.add(name)
            document, index = name, position
