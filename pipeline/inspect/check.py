"""``check``: whether files, rows and trees are what manifests and schema say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipeline.digest import sha256_of_file
from pipeline.inspect.dataset import Selection, StageFolder
from pipeline.inspect.manifest_checks import shard_problems, stage_problems
from pipeline.inspect.quarantine import quarantine_problems
from pipeline.inspect.row_checks import DocumentOrder, row_faults
from pipeline.inspect.stats import parser_failures
from pipeline.inspect.suspects import suspect_rows, token_counts
from pipeline.manifests import (
    MANIFEST_NAME,
    ShardManifest,
    quarantine_path,
    read_dataset_manifest,
    read_shard_manifest,
    remedy,
    shard_path,
)
from pipeline.shards import read_shard

ROWS_AT_ONCE = 10_000
"""Rows whose flat arrays are in memory together."""


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
    for folder in selection.folders:
        if selection.shard is None:
            yield from _stage_faults(folder)
            yield from _missing_shards(folder, selection)
    for begun in selection.begun:
        yield Fault(begun, "was begun, but has no shard: not complete; run the stage again")
    order = DocumentOrder()
    for number in selection.numbers():
        yield from _shard_faults(selection, number, order)


def notes_of(selection: Selection) -> Iterator[str]:
    """Yields what is not wrong but should be known: what went unchecked, a parser's failures."""
    for folder in selection.parses if selection.sentences is None else ():
        yield f"note: {folder.path}: alignment not checked: no sentences beside it"
    for folder in selection.folders:
        numbers = [n for n in selection.numbers() if n in set(folder.numbers())]
        failures = parser_failures(folder, _readable_manifests(folder, numbers))
        if failures:
            yield f"note: {folder.path}: {failures}"


def _readable_manifests(folder: StageFolder, numbers: list[int]) -> Iterator[ShardManifest]:
    for number in numbers:
        with suppress(ValueError):  # named as a fault already
            manifest = read_shard_manifest(folder.path, number)
            if manifest is not None:
                yield manifest


def _stage_faults(folder: StageFolder) -> Iterator[Fault]:
    """Compares a stage's manifest with the shards that are there."""
    for number in folder.missing():
        yield Fault(
            shard_path(folder.path, number),
            f"in the manifest but missing; delete the folder's {MANIFEST_NAME} and run the stage "
            "again",
        )
    if not (folder.path / MANIFEST_NAME).exists():
        yield Fault(folder.path, f"no {MANIFEST_NAME}: not complete; run the stage again")
        return
    try:
        manifest = read_dataset_manifest(folder.path, folder.stage)
    except ValueError as error:
        yield Fault(folder.path / MANIFEST_NAME, f"cannot be used ({error})")
        return
    for problem in stage_problems(folder, manifest):
        yield Fault(folder.path, problem)


def _missing_shards(folder: StageFolder, selection: Selection) -> Iterator[Fault]:
    """Compares the numbers of a parsed stage's shards with those of the sentences."""
    if folder.stage == "sentences" or selection.sentences is None:
        return
    # What is missing by a stage's own manifest is named there.
    found = {*folder.numbers(), *folder.missing()}
    expected = {*selection.sentences.numbers(), *selection.sentences.missing()}
    if expected - found:
        yield Fault(folder.path, f"lacks shards {sorted(expected - found)} of the sentences")
    if found - expected:
        yield Fault(folder.path, f"has shards {sorted(found - expected)}, the sentences do not")


def _shard_faults(selection: Selection, number: int, order: DocumentOrder) -> Iterator[Fault]:
    """Checks one shard of every stage, and the stages against one another."""
    sentences: pa.Table | None = None
    for folder in selection.folders:
        path = shard_path(folder.path, number)
        if selection.shard is None and not path.exists():
            continue  # named by _missing_shards or by the stage's manifest
        try:
            manifest = read_shard_manifest(folder.path, number)
            if manifest is not None and sha256_of_file(path) != manifest.sha256:
                # Of rows read from other bytes nothing can be said.
                yield Fault(path, f"sha256 differs from its manifest's; {remedy(path)}")
                continue
            table = read_shard(folder.path, folder.stage, number)
        except (ValueError, OSError) as error:
            yield Fault(path, f"cannot be read ({error})")
            continue
        if manifest is None:
            yield Fault(path, f"has no manifest: it is not complete; {remedy(path)}")
            continue
        for problem in shard_problems(folder, number, manifest):
            yield Fault(path, problem)
        yield from _count_faults(path, manifest, table)
        for problem in quarantine_problems(folder.path, manifest, table, sentences):
            yield Fault(quarantine_path(folder.path, number), problem)
        if folder.stage == "sentences":
            sentences = table
            for row, field, problem in order.faults(table):
                yield Fault(path, problem, row, field)
        elif sentences is not None:
            yield from _alignment_faults(selection, manifest, path, table, sentences)
            if sentences.num_rows != table.num_rows:
                continue
        yield from _row_faults(folder, path, table, sentences)


def _count_faults(path: Path, manifest: ShardManifest, table: pa.Table) -> Iterator[Fault]:
    if table.num_rows != manifest.rows:
        yield Fault(path, f"{table.num_rows} rows, its manifest says {manifest.rows}")
    nulls = table[table.column_names[0]].null_count
    refused = sum(manifest.drops.values())
    if manifest.stage != "sentences" and nulls != refused:
        yield Fault(path, f"{nulls} rows without a parse, its manifest says {refused}")


def _alignment_faults(
    selection: Selection,
    manifest: ShardManifest,
    path: Path,
    table: pa.Table,
    sentences: pa.Table,
) -> Iterator[Fault]:
    assert selection.sentences is not None
    if table.num_rows != sentences.num_rows:
        yield Fault(path, f"{table.num_rows} rows, the sentences have {sentences.num_rows}")
    source = read_shard_manifest(selection.sentences.path, manifest.number)
    parsed_from = manifest.extra.get("sentences_sha256")
    if parsed_from is None:
        yield Fault(path, "its manifest does not say from which sentences it was parsed")
    elif source is not None and parsed_from != source.sha256:
        yield Fault(path, f"was parsed from other sentences than those beside it; {remedy(path)}")


def _row_faults(
    folder: StageFolder, path: Path, table: pa.Table, sentences: pa.Table | None
) -> Iterator[Fault]:
    """Names what is wrong with rows, of which only the suspect ones are looked at one by one."""
    counts = None if sentences is None else token_counts(sentences)
    for start in range(0, table.num_rows, ROWS_AT_ONCE):
        rows = table.slice(start, ROWS_AT_ONCE)
        lengths = None if counts is None else counts[start : start + ROWS_AT_ONCE]
        suspects = suspect_rows(folder.stage, rows, lengths)
        for position, row in zip(suspects.tolist(), _rows(rows, suspects), strict=True):
            num_tokens = None if lengths is None else int(lengths[position])
            for field, problem in row_faults(folder.stage, row, num_tokens):
                yield Fault(path, problem, start + position, field)


def _rows(table: pa.Table, positions: NDArray[np.int64]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.take(pa.array(positions)).to_pylist()
    return rows
