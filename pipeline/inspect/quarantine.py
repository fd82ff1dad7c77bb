"""Compares what a shard's manifest and rows say was refused with the records of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.digest import sha256_of_file
from pipeline.manifests import ShardManifest, quarantine_path, remedy, shard_path

Record = dict[str, Any]


def quarantine_problems(
    folder: Path, manifest: ShardManifest, table: pa.Table, sentences: pa.Table | None
) -> Iterator[str]:
    """Yields what is wrong with the quarantine file of a shard.

    Args:
        table: the shard's rows; of a parsed stage, those without a parse must be those on record.
        sentences: the rows of the sentences they are parses of, where these are at hand.
    """
    if not manifest.has_quarantine:
        if manifest.drops and manifest.stage != "sentences":
            yield f"the manifest says {manifest.drops} were refused, but keeps no record of them"
        return
    path = quarantine_path(folder, manifest.number)
    try:
        records = _read_records(path)
    except FileNotFoundError:
        yield f"is missing; {remedy(shard_path(folder, manifest.number))}"
        return
    except ValueError as error:
        yield f"cannot be read ({error}); {remedy(shard_path(folder, manifest.number))}"
        return
    if manifest.quarantine_sha256 and sha256_of_file(path) != manifest.quarantine_sha256:
        # Said beside what can be named of the records themselves.
        yield f"sha256 differs from its manifest's; {remedy(shard_path(folder, manifest.number))}"
    recorded = Counter(str(record["reason"]) for record in records)
    for reason in sorted(recorded.keys() | manifest.drops.keys()):
        if recorded[reason] != manifest.drops.get(reason, 0):
            yield (
                f"{recorded[reason]} records of {reason!r}, the manifest says "
                f"{manifest.drops.get(reason, 0)}"
            )
    if manifest.stage != "sentences":
        yield from _row_problems(records, table)
        if sentences is not None and sentences.num_rows == table.num_rows:
            yield from _sentence_problems(records, sentences)


def _row_problems(records: Sequence[Record], table: pa.Table) -> Iterator[str]:
    """Compares the rows on record with those that have no parse."""
    recorded = [record.get("row") for record in records]
    refused = set(np.flatnonzero(table.column(0).is_null().to_numpy()).tolist())
    for row in sorted(refused.difference(recorded)):
        yield f"no record of row {row}, which has no parse"
    for line, found in enumerate(recorded, start=1):
        if found not in refused:
            yield f"line {line} is of row {found}, which does not lack a parse"


def _sentence_problems(records: Sequence[Record], sentences: pa.Table) -> Iterator[str]:
    """Compares the sentences on record with those of their rows."""
    for number, record in enumerate(records, start=1):
        row = record.get("row")
        if not isinstance(row, int) or not 0 <= row < sentences.num_rows:
            continue  # named already
        for field in ("document_id", "sentence_index"):
            expected = sentences[field][row].as_py()
            if field in record and record[field] != expected:
                yield f"line {number}: {field} {record[field]!r}, the sentence has {expected!r}"


def _read_records(path: Path) -> list[Record]:
    """Returns the records, each with a reason.

    Raises:
        ValueError: a line is none; names it.
    """
    records: list[Record] = []
    with path.open(encoding="utf-8") as stream:
        for number, line in enumerate(stream, start=1):
            try:
                record = json.loads(line)
                record["reason"]
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"line {number}: {type(error).__name__}: {error}") from error
            records.append(record)
    return records
