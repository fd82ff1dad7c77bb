"""``check``: whether files, rows and trees are what manifests and schema say.

A stage's manifest is held against its shards, a shard's against its rows and its records of what
was refused, the stages against one another, and each row against what its stage means.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from treeviews.pipeline.base.digest import sha256_of_file
from treeviews.pipeline.inspect.aligned_rows import ROWS_AT_ONCE, constituency_of
from treeviews.pipeline.inspect.dataset import Selection, StageFolder
from treeviews.pipeline.parsing.parse_shard import PARSER_FAULTS
from treeviews.pipeline.shards.arrow import vectors_of
from treeviews.pipeline.shards.manifests import (
    MANIFEST_NAME,
    PARSED_FROM,
    DatasetManifest,
    ShardManifest,
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
from treeviews.pipeline.trees.flat_trees import binarize, validate_constituents, validate_heads

RERUN = f"delete {MANIFEST_NAME} and run the stage again"


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
    for folder in selection.folders if selection.shard is None else ():
        yield from _stage_faults(folder, selection.sentences)
    if selection.sentences is None and not selection.is_one_stage:
        corpus = selection.folders[0].path.parent
        yield Fault(corpus, "no sentences here, which its parses are of; copy them here")
    order = DocumentOrder()
    for number in selection.numbers():
        yield from _shard_faults(selection, number, order)


def notes_of(selection: Selection) -> Iterator[str]:
    """Yields what is not wrong but should be known: what went unchecked, a parser's failures."""
    for folder in selection.parses if selection.sentences is None else ():
        yield f"note: {folder.path}: alignment not checked: no sentences beside it"
    for folder in selection.folders:
        manifests = []
        for number in selection.numbers_in(folder):
            with suppress(ValueError):  # named as a fault already
                manifests.append(read_shard_manifest(folder.path, number))
        failures = parser_failures(folder, [found for found in manifests if found is not None])
        if failures:
            yield f"note: {folder.path}: {failures}"


def _stage_faults(folder: StageFolder, sentences: StageFolder | None) -> Iterator[Fault]:
    """Compares a stage's manifest with the shards that are there, and these with the sentences'."""
    for number in folder.missing():
        problem = f"in the manifest but missing; delete the folder's {MANIFEST_NAME} and run the"
        yield Fault(shard_path(folder.path, number), f"{problem} stage again")
    try:
        for problem in _stage_problems(folder, read_dataset_manifest(folder.path, folder.stage)):
            yield Fault(folder.path, problem)
    except FileNotFoundError:
        yield Fault(folder.path, f"no {MANIFEST_NAME}: not complete; run the stage again")
    except ValueError as error:
        yield Fault(folder.path / MANIFEST_NAME, f"cannot be used ({error})")
    if sentences is None:
        return
    # What is missing by a stage's own manifest is named already.
    found = {*folder.numbers(), *folder.missing()}
    expected = {*sentences.numbers(), *sentences.missing()}
    if expected - found:
        yield Fault(folder.path, f"lacks shards {sorted(expected - found)} of the sentences")
    if found - expected:
        yield Fault(folder.path, f"has shards {sorted(found - expected)}, the sentences do not")


def _stage_problems(folder: StageFolder, manifest: DatasetManifest) -> Iterator[str]:
    """Yields what is wrong with the manifest of a complete stage."""
    unlisted = set(folder.numbers()).difference(shard.number for shard in manifest.shards)
    if unlisted:
        yield f"has shards {sorted(unlisted)}, its manifest does not"
    for listed in manifest.shards:
        with suppress(ValueError):  # named where the shard is read
            own = read_shard_manifest(folder.path, listed.number) or listed
            if _origin(own) != _origin(listed):
                yield (
                    f"{MANIFEST_NAME} lists another shard {listed.number} than its own manifest "
                    f"describes; {RERUN}"
                )
    yield from parser_problems(manifest.shards)


def _origin(shard: ShardManifest) -> tuple[object, ...]:
    """Returns what two manifests of a shard agree in: its content, and where that comes from.

    Not how long it took: the same rows may have been made twice, on two machines.
    """
    extra = (shard.extra.get("parser_checksum"), shard.extra.get(PARSED_FROM))
    return shard.sha256, shard.rows, shard.drops, shard.quarantine_sha256, extra


def _shard_faults(selection: Selection, number: int, order: DocumentOrder) -> Iterator[Fault]:
    """Checks one shard of every stage, and the stages against one another."""
    sentences: pa.Table | None = None
    for folder in selection.folders:
        path = shard_path(folder.path, number)
        if selection.shard is None and not path.exists():
            continue  # named with the stage's manifest
        try:
            manifest = manifest_beside(folder.path, number)
            table = read_shard(folder.path, folder.stage, number)
        except (ValueError, OSError) as error:
            yield Fault(path, f"cannot be read ({error})")
            continue
        if manifest is None:
            yield Fault(path, f"has no manifest: it is not complete; {remedy(path)}")
            continue
        for problem in _manifest_problems(manifest, table):
            yield Fault(path, problem)
        for problem in _quarantine_problems(path, manifest):
            yield Fault(quarantine_path(folder.path, number), problem)
        if folder.stage == "sentences":
            sentences = table
            for row, field, problem in order.faults(table):
                yield Fault(path, problem, row, field)
        elif selection.sentences is not None and sentences is not None:
            for problem in _alignment_problems(path, manifest, selection.sentences.path):
                yield Fault(path, problem)
            if sentences.num_rows != table.num_rows:
                problem = f"{table.num_rows} rows, the sentences have {sentences.num_rows}"
                yield Fault(path, problem)
                continue
        for row, field, problem in faults_in_rows(folder.stage, table, sentences):
            yield Fault(path, problem, row, field)


def _manifest_problems(manifest: ShardManifest, table: pa.Table) -> Iterator[str]:
    """Yields where a shard's manifest is of other rows."""
    if table.num_rows != manifest.rows:
        yield f"{table.num_rows} rows, its manifest says {manifest.rows}"
    nulls = table[table.column_names[0]].null_count
    refused = sum(manifest.drops.values())
    if manifest.stage != "sentences" and nulls != refused:
        yield f"{nulls} rows of nulls, its manifest says that {refused} were refused"


def _alignment_problems(path: Path, manifest: ShardManifest, source: Path) -> Iterator[str]:
    """Yields where a parsed shard is of other sentences than those in the folder ``source``."""
    own = read_shard_manifest(source, manifest.number)
    parsed_from = manifest.extra.get(PARSED_FROM)
    if parsed_from is None:
        yield "its manifest does not say from which sentences it was parsed"
    elif own is not None and parsed_from != own.sha256:
        yield f"was parsed from other sentences than those beside it; {remedy(path)}"


def _quarantine_problems(shard: Path, manifest: ShardManifest) -> Iterator[str]:
    """Yields where the records of what a shard refused differ from its manifest."""
    if not manifest.has_quarantine:
        if manifest.drops and manifest.stage != "sentences":
            yield f"the manifest says {manifest.drops} were refused, but keeps no record of them"
        return
    path = quarantine_path(shard.parent, manifest.number)
    try:
        counts = Counter(reason for _, reason, _ in read_refusals(path))
    except (FileNotFoundError, ValueError) as error:
        yield f"cannot be read ({error}); {remedy(shard)}"
        return
    if manifest.quarantine_sha256 and sha256_of_file(path) != manifest.quarantine_sha256:
        yield f"sha256 differs from its manifest's; {remedy(shard)}"
    elif counts != Counter(manifest.drops):
        yield f"has records of {dict(counts)}, the manifest says {manifest.drops}"


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


def parser_failures(folder: StageFolder, manifests: Iterable[ShardManifest]) -> str:
    """Returns how many sentences failed in the parser and where they stand, or nothing."""
    count = sum(m.drops.get(reason, 0) for m in manifests for reason in PARSER_FAULTS)
    if not count:
        return ""
    where = folder.path / "*.quarantine.jsonl"
    return f"{count:,} rows by the parser's own fault; their details stand in {where}"


def faults_in_rows(
    stage: str, table: pa.Table, sentences: pa.Table | None
) -> Iterator[tuple[int, str, str]]:
    """Yields (row, field, problem).

    Args:
        table: all of the stage's columns.
        sentences: the rows of the sentences they are parses of, where these are at hand.
    """
    for start in range(0, table.num_rows, ROWS_AT_ONCE):
        rows = table.slice(start, ROWS_AT_ONCE)
        if stage == EMBEDDINGS:
            vectors, _ = vectors_of(rows[EMBEDDING])
            for position in np.flatnonzero(~np.isfinite(vectors).all(axis=1)).tolist():
                yield start + position, EMBEDDING, "has a number that is not finite"
            continue
        tokens: list[list[str] | None] = [None] * rows.num_rows
        if sentences is not None:
            tokens = sentences["tokens"].slice(start, ROWS_AT_ONCE).to_pylist()
        for position, (row, words) in enumerate(zip(rows.to_pylist(), tokens, strict=True), start):
            for field, problem in row_faults(stage, row, None if words is None else len(words)):
                yield position, field, problem


def row_faults(
    stage: str, row: dict[str, Any], num_tokens: int | None
) -> Iterator[tuple[str, str]]:
    """Yields each field of a row that is wrong, and the problem.

    Args:
        row: the stage's columns; of constituents those of the binary tree may be left out.
        num_tokens: how many words the sentence has, where its shard is at hand.
    """
    if stage == "sentences":
        tokens = row["tokens"]
        if not tokens:
            yield "tokens", "no token"
        elif not all(tokens):
            yield "tokens", f"token {tokens.index('') + 1} is empty"
        return
    missing = [name for name, value in row.items() if value is None]
    if missing:
        if len(missing) < len(row):
            yield missing[0], f"null, but {next(n for n in row if n not in missing)} is not"
    elif stage == "dependencies":
        yield from _dependency_faults(row["heads"], row["deprels"], num_tokens)
    else:
        yield from _constituent_faults(row, num_tokens)


def _dependency_faults(
    heads: Sequence[int], deprels: Sequence[str], num_tokens: int | None
) -> Iterator[tuple[str, str]]:
    if num_tokens is not None and len(heads) != num_tokens:
        yield "heads", f"{len(heads)} heads for {num_tokens} tokens"
        return
    problem = validate_heads(heads)
    if problem is not None:
        yield "heads", problem
    if len(deprels) != len(heads):
        yield "deprels", f"{len(deprels)} relations for {len(heads)} heads"


def _constituent_faults(row: dict[str, Any], num_tokens: int | None) -> Iterator[tuple[str, str]]:
    parse = constituency_of(row)
    problem = validate_constituents(parse, len(parse.tags) if num_tokens is None else num_tokens)
    if problem is not None:
        yield "span_starts", problem
        return
    if "binary_left" not in row:
        return
    try:
        tree = binarize(parse)
    except ValueError as error:
        yield "span_labels", str(error)
        return
    for field, expected in (("binary_left", tree.left), ("binary_right", tree.right)):
        if row[field] != expected:
            yield field, f"is {row[field]}, the binarization of the spans is {expected}"


class DocumentOrder:
    """Follows documents over the shards of a stage, which are given to it in order."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._document: str | None = None
        self._index = -1

    def faults(self, table: pa.Table) -> Iterator[tuple[int, str, str]]:
        """Yields (row, field, problem) where a document is torn or its indices do not rise."""
        places = zip(
            table["document_id"].to_pylist(), table["sentence_index"].to_pylist(), strict=True
        )
        for row, (document, index) in enumerate(places):
            if document != self._document:
                if document in self._seen:
                    yield row, "document_id", f"{document!r} goes on after another document"
                self._seen.add(document)
            elif index <= self._index:
                yield row, "sentence_index", f"{index} follows {self._index} in one document"
            self._document, self._index = document, index
