"""``check``: whether files, rows and trees are what manifests and schema say.

A stage's manifest is held against its shards, a shard's against its rows and its records of what
was refused, the stages against one another; what makes rows right is told in `row_checks`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.base.digest import remembered_sha256, sha256_of_file
from pipeline.inspect.dataset import Selection, StageFolder
from pipeline.inspect.row_checks import DocumentOrder, faults_in_rows
from pipeline.inspect.stats import parser_failures
from pipeline.shards.manifests import (
    DTYPE,
    MANIFEST_NAME,
    PARSED_FROM,
    WIDTH,
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
from pipeline.shards.schema import EMBEDDINGS, Vectors
from pipeline.shards.shards import read_shard

RERUN = f"delete {MANIFEST_NAME} and run the stage again"
CONTENT_FACTS = ("sha256", "rows", "drops", "quarantine_sha256")
ORIGIN_FACTS = ("parser_checksum", PARSED_FROM)
"""What two manifests of one shard must agree in: of its content, and of where it comes from. Not
how long it took: the same rows may have been made twice, on two machines."""


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
        yield from _stage_faults(folder)
        for problem in _missing_shards(folder, selection.sentences):
            yield Fault(folder.path, problem)
    if selection.sentences is None and not selection.is_one_stage and not selection.begun:
        corpus = selection.folders[0].path.parent
        yield Fault(
            corpus,
            "no sentences here, which its parses are of; copy them from where they "
            "were parsed, or run the stage again",
        )
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
        manifests = []
        for number in selection.numbers_in(folder):
            with suppress(ValueError):  # named as a fault already
                manifests.append(read_shard_manifest(folder.path, number))
        failures = parser_failures(folder, [found for found in manifests if found is not None])
        if failures:
            yield f"note: {folder.path}: {failures}"


def _stage_faults(folder: StageFolder) -> Iterator[Fault]:
    """Compares a stage's manifest with the shards that are there."""
    for number in folder.missing():
        yield Fault(
            shard_path(folder.path, number),
            f"in the manifest but missing; delete the folder's {MANIFEST_NAME} and run the stage "
            "again",
        )
    try:
        manifest = read_dataset_manifest(folder.path, folder.stage)
    except FileNotFoundError:
        yield Fault(folder.path, f"no {MANIFEST_NAME}: not complete; run the stage again")
        return
    except ValueError as error:
        yield Fault(folder.path / MANIFEST_NAME, f"cannot be used ({error})")
        return
    for problem in _stage_problems(folder, manifest):
        yield Fault(folder.path, problem)


def _stage_problems(folder: StageFolder, manifest: DatasetManifest) -> Iterator[str]:
    """Yields what is wrong with the manifest of a complete stage."""
    unlisted = set(folder.numbers()).difference(shard.number for shard in manifest.shards)
    if unlisted:
        yield f"has shards {sorted(unlisted)}, its manifest does not"
    if manifest.rows != sum(shard.rows for shard in manifest.shards):
        yield f"manifest says {manifest.rows} rows, its shards have another sum; {RERUN}"
    for listed in manifest.shards:
        try:
            own = read_shard_manifest(folder.path, listed.number) or listed
        except ValueError:
            continue  # named where the shard is read
        differing = [name for name in CONTENT_FACTS if getattr(own, name) != getattr(listed, name)]
        differing += [
            name for name in ORIGIN_FACTS if own.extra.get(name) != listed.extra.get(name)
        ]
        if differing:
            yield (
                f"{MANIFEST_NAME} lists another shard {listed.number} than its own manifest "
                f"describes ({', '.join(differing)} differ); {RERUN}"
            )
    yield from parser_problems(manifest.shards)


def _missing_shards(folder: StageFolder, sentences: StageFolder | None) -> Iterator[str]:
    """Compares the numbers of a parsed stage's shards with those of the sentences."""
    if sentences is None:
        return
    # What is missing by a stage's own manifest is named there.
    found = {*folder.numbers(), *folder.missing()}
    expected = {*sentences.numbers(), *sentences.missing()}
    if expected - found:
        yield f"lacks shards {sorted(expected - found)} of the sentences"
    if found - expected:
        yield f"has shards {sorted(found - expected)}, the sentences do not"


def _shard_faults(selection: Selection, number: int, order: DocumentOrder) -> Iterator[Fault]:
    """Checks one shard of every stage, and the stages against one another."""
    sentences: pa.Table | None = None
    for folder in selection.folders:
        path = shard_path(folder.path, number)
        if selection.shard is None and not path.exists():
            continue  # named by _missing_shards or by the stage's manifest
        try:
            manifest, table = _read_whole(folder, number)
        except ValueError as error:
            yield Fault(path, str(error))
            continue
        for problem in _manifest_problems(folder, manifest, table):
            yield Fault(path, problem)
        for problem in _quarantine_problems(path, manifest, table, sentences):
            yield Fault(quarantine_path(folder.path, number), problem)
        if folder.stage == "sentences":
            sentences = table
            for row, field, problem in order.faults(table):
                yield Fault(path, problem, row, field)
        elif selection.sentences is not None and sentences is not None:
            source = selection.sentences.path
            for problem in _alignment_problems(path, manifest, table, source, sentences):
                yield Fault(path, problem)
            if sentences.num_rows != table.num_rows:
                continue
        for row, field, problem in faults_in_rows(folder.stage, table, sentences):
            yield Fault(path, problem, row, field)


def _read_whole(folder: StageFolder, number: int) -> tuple[ShardManifest, pa.Table]:
    """Returns a shard's manifest and rows.

    Raises:
        ValueError: they are not there or not whole; says why, but not where.
    """
    path = shard_path(folder.path, number)
    table: pa.Table | None = None
    try:
        manifest = manifest_beside(folder.path, number)
        if manifest is None or remembered_sha256(path) == manifest.sha256:
            table = read_shard(folder.path, folder.stage, number)
    except (ValueError, OSError) as error:
        raise ValueError(f"cannot be read ({error})") from error
    if manifest is None:
        raise ValueError(f"has no manifest: it is not complete; {remedy(path)}")
    if table is None:  # of rows read from other bytes nothing can be said
        raise ValueError(f"sha256 differs from its manifest's; {remedy(path)}")
    return manifest, table


def _manifest_problems(
    folder: StageFolder, manifest: ShardManifest, table: pa.Table
) -> Iterator[str]:
    """Yields where a shard's manifest is that of another stage, or of other rows."""
    if manifest.stage != folder.stage:
        yield f"its manifest is of stage {manifest.stage!r}, not {folder.stage!r}"
    if table.num_rows != manifest.rows:
        yield f"{table.num_rows} rows, its manifest says {manifest.rows}"
    nulls = table[table.column_names[0]].null_count
    refused = sum(manifest.drops.values())
    if manifest.stage != "sentences" and nulls != refused:
        yield f"{nulls} rows without {_made(manifest.stage)}, its manifest says {refused}"
    if folder.stage == EMBEDDINGS:
        said = Vectors(manifest.extra.get(WIDTH, 0), manifest.extra.get(DTYPE, "float32"))
        expected, found = (s.field(0).type for s in (said.schema(), table.schema))
        if expected != found:
            yield f"rows are {found}, its manifest says {expected}"


def _made(stage: str) -> str:
    """Returns what a stage makes of a sentence, in words."""
    return "an embedding" if stage == EMBEDDINGS else "a parse"


def _alignment_problems(
    path: Path, manifest: ShardManifest, table: pa.Table, source: Path, sentences: pa.Table
) -> Iterator[str]:
    """Yields where a parsed shard is of other sentences than those in the folder ``source``."""
    if table.num_rows != sentences.num_rows:
        yield f"{table.num_rows} rows, the sentences have {sentences.num_rows}"
    own = read_shard_manifest(source, manifest.number)
    parsed_from = manifest.extra.get(PARSED_FROM)
    if parsed_from is None:
        yield "its manifest does not say from which sentences it was parsed"
    elif own is not None and parsed_from != own.sha256:
        yield f"was parsed from other sentences than those beside it; {remedy(path)}"


def _quarantine_problems(
    shard: Path, manifest: ShardManifest, table: pa.Table, sentences: pa.Table | None
) -> Iterator[str]:
    """Yields where the records of what a shard refused differ from its manifest and rows.

    Args:
        table: the shard's rows; of a parsed stage, those without a parse must be those on record.
        sentences: the rows of the sentences they are parses of, where these are at hand.
    """
    if not manifest.has_quarantine:
        if manifest.drops and manifest.stage != "sentences":
            yield f"the manifest says {manifest.drops} were refused, but keeps no record of them"
        return
    path = quarantine_path(shard.parent, manifest.number)
    redo = remedy(shard_path(shard.parent, manifest.number))
    try:
        records = _read_records(path)
    except FileNotFoundError:
        yield f"is missing; {redo}"
        return
    except ValueError as error:
        yield f"cannot be read ({error}); {redo}"
        return
    if manifest.quarantine_sha256 and sha256_of_file(path) != manifest.quarantine_sha256:
        # Said beside what can be named of the records themselves.
        yield f"sha256 differs from its manifest's; {redo}"
    counts = Counter(str(record["reason"]) for record in records)
    for reason in sorted(counts.keys() | manifest.drops.keys()):
        said = manifest.drops.get(reason, 0)
        if counts[reason] != said:
            yield f"{counts[reason]} records of {reason!r}, the manifest says {said}"
    if manifest.stage != "sentences":
        yield from _record_problems(records, table, sentences, _made(manifest.stage))


def _record_problems(
    records: Sequence[dict[str, Any]], table: pa.Table, sentences: pa.Table | None, made: str
) -> Iterator[str]:
    """Compares records with the rows that have nothing, and with the sentences of their rows.

    Args:
        made: what the others have, in words.
    """
    recorded: list[Any] = [record.get("row") for record in records]
    refused = set(np.flatnonzero(table.column(0).is_null().to_numpy()).tolist())
    for row in sorted(refused.difference(recorded)):
        yield f"no record of row {row}, which has no {made.partition(' ')[2]}"
    for line, row in enumerate(recorded, start=1):
        if row not in refused:
            yield f"line {line} is of row {row}, which does not lack {made}"
    if sentences is None or sentences.num_rows != table.num_rows:
        return
    for line, (row, record) in enumerate(zip(recorded, records, strict=True), start=1):
        if not isinstance(row, int) or not 0 <= row < sentences.num_rows:
            continue  # named already
        for field in ("document_id", "sentence_index"):
            expected = sentences[field][row].as_py()
            if field in record and record[field] != expected:
                yield f"line {line}: {field} {record[field]!r}, the sentence has {expected!r}"


def _read_records(path: Path) -> list[dict[str, Any]]:
    """Returns the records, each with a reason.

    Raises:
        ValueError: a line is none; names it.
    """
    records: list[dict[str, Any]] = []
    with path.open(encoding="utf-8") as stream:
        for number, line in enumerate(stream, start=1):
            try:
                record = json.loads(line)
                record["reason"]
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"line {number}: {type(error).__name__}: {error}") from error
            records.append(record)
    return records
