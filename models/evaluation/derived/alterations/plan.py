"""Which sentences each kind of alteration altered, and which it left: kept beside the shards."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from models.evaluation.derived.alterations.halves import Halves
from pipeline.base.atomic_files import TEMPORARY_SUFFIX, rename_durably

PLAN_NAME = "alterations.parquet"
PLAN = pa.schema(
    [
        # Kind of the alteration, which is the name of its probing task.
        pa.field("kind", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        # Row of the corpus, counted over its shards.
        pa.field("corpus_row", pa.int64(), nullable=False),
        # Row of the altered sentence in its own dataset; null where the sentence stays as it is.
        pa.field("altered_row", pa.int64()),
    ]
)


@dataclass(frozen=True, slots=True)
class Alteration:
    """Where an altered sentence comes from."""

    kind: str
    corpus_row: int


@dataclass(frozen=True, slots=True)
class Plan:
    """The two classes of all kinds of alteration."""

    alterations: Mapping[int, Alteration]
    """Of each row of the altered dataset."""
    intact_in: Mapping[int, frozenset[str]]
    """By corpus row, the kinds in which the sentence is of the class that was not altered."""


def write_plan(folder: Path, halves: Mapping[str, Halves]) -> None:
    """Writes the plan; altered rows are numbered by kind, then by the corpus row they come from."""
    rows: list[dict[str, object]] = []
    number = 0
    for kind, parts in halves.items():
        for corpus_row in sorted(parts.altered):
            rows.append({"kind": kind, "corpus_row": corpus_row, "altered_row": number})
            number += 1
        rows += [{"kind": kind, "corpus_row": row, "altered_row": None} for row in parts.intact]
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / f"{PLAN_NAME}.{os.getpid()}{TEMPORARY_SUFFIX}"
    pq.write_table(pa.Table.from_pylist(rows, schema=PLAN), temporary, compression="zstd")
    rename_durably(temporary, folder / PLAN_NAME)


def read_plan(folder: Path) -> Plan:
    """Returns the plan of a dataset of altered sentences.

    Raises:
        FileNotFoundError: the folder holds none.
    """
    path = folder / PLAN_NAME
    if not path.exists():
        raise FileNotFoundError(
            f"{folder}: no {PLAN_NAME}, so these are no altered sentences; alter them again"
        )
    alterations: dict[int, Alteration] = {}
    intact_in: dict[int, set[str]] = defaultdict(set)
    for row in pq.read_table(path).to_pylist():
        if row["altered_row"] is None:
            intact_in[row["corpus_row"]].add(row["kind"])
        else:
            alterations[row["altered_row"]] = Alteration(row["kind"], row["corpus_row"])
    return Plan(alterations, {row: frozenset(kinds) for row, kinds in intact_in.items()})
