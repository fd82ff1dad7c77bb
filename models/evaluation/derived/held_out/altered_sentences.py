"""Writes the altered sentences of all kinds as one dataset to parse, and the plan beside it.

The plan says which sentences each kind of alteration altered, and which it left.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from models.evaluation.derived.held_out.config import ALTERATION_VERSION, ProbingConfig
from models.evaluation.derived.held_out.held_out_rows import (
    HeldOutRow,
    SourceSentence,
    SourceText,
    parsed_rows,
)
from models.evaluation.derived.held_out.odd_word import replace_words
from models.evaluation.derived.held_out.shift_and_inversion import (
    Halves,
    invert_coordinations,
    shift_bigrams,
)
from pipeline.base.atomic_files import TEMPORARY_SUFFIX, rename_durably
from pipeline.base.json_files import check_file
from pipeline.shards.manifests import DatasetManifest, read_dataset_manifest, write_dataset_manifest
from pipeline.shards.shards import rows_in_shard, write_shard

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

NOT_SELECTED = "not_selected"

KINDS: Mapping[str, Callable[[SourceText, ProbingConfig], Halves]] = {
    "bigram_shift": shift_bigrams,
    "coordination_inversion": invert_coordinations,
    "odd_word_out": replace_words,
}
"""What is altered, by the name of the probing task that asks for it."""


def make_altered_sentences(
    sentences: Path, constituents: Path, out: Path, config: ProbingConfig
) -> DatasetManifest:
    """Writes the altered half of the held-out sentences, once for each kind of alteration.

    Beside the shards stands the plan: which row is of which kind, and which sentences of the
    corpus stay intact for a kind.

    Args:
        sentences: a complete sentence stage.
        constituents: its constituency parses.
        out: folder of the new sentence stage; an altered document is one of its own, so that its
            name ends in the kind, and its rows keep the indices of the original.

    Returns:
        The new stage's manifest; ``not_selected`` in the extra facts of its first shard counts
        the held-out sentences that were not altered, by kind and reason. None of them is refused:
        their intact forms are probed.

    Raises:
        FileNotFoundError: a stage is not complete.
        ValueError: no held-out sentence can be altered, or the stages do not fit together.
    """
    started = time.perf_counter()
    stages = {"constituents": constituents}
    rows = parsed_rows(sentences, stages, config.hold_out, limit=config.max_sentences)
    source = (SourceSentence(row, *(tree or ())[:4]) for row, tree in rows)
    text = SourceText(sentences, tuple(source))
    halves = {kind: make(text, config) for kind, make in KINDS.items()}
    if not any(parts.altered for parts in halves.values()):
        raise ValueError(
            f"{sentences}: none of {len(text.sentences)} held-out sentences can be altered; "
            f"{config.hold_out.remedy} or give a larger corpus"
        )
    _write_plan(out, halves)
    _write(text, halves, out)
    return write_dataset_manifest(
        out,
        "sentences",
        config={
            "probing": config.alteration_dict(),
            "alteration_version": ALTERATION_VERSION,
            "made": ", ".join(KINDS),
        },
        seconds=time.perf_counter() - started,
        files=[out / PLAN_NAME],
    )


def _write(text: SourceText, halves: Mapping[str, Halves], out: Path) -> None:
    source = {sentence.row.dataset_row: sentence.row for sentence in text.sentences}
    rows: list[tuple[str, HeldOutRow, tuple[str, ...]]] = [
        (kind, source[row], parts.altered[row])
        for kind, parts in halves.items()
        for row in sorted(parts.altered)
    ]
    not_selected = {
        f"{kind}: {reason}": number
        for kind, parts in halves.items()
        for reason, number in sorted(parts.not_selected.items())
        if number
    }
    number = first = 0
    while first < len(rows):
        part = rows[first : first + rows_in_shard(number)]
        table = pa.table(
            {
                "document_id": [f"{row.document_id} ({kind})" for kind, row, _ in part],
                "sentence_index": pa.array([row.sentence_index for _, row, _ in part], pa.int32()),
                "tokens": [list(tokens) for _, _, tokens in part],
            }
        )
        extra = {NOT_SELECTED: not_selected} if number == 0 else {}
        write_shard(out, "sentences", number, table, drops={}, extra=extra)
        first += len(part)
        number += 1


def _write_plan(folder: Path, halves: Mapping[str, Halves]) -> None:
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


def read_plan(folder: Path) -> Plan:
    """Returns the plan of a dataset of altered sentences.

    Raises:
        FileNotFoundError: the folder holds none, or the stage is not complete.
        ValueError: the plan is damaged; names it and the remedy.
    """
    path = folder / PLAN_NAME
    if not path.exists():
        raise FileNotFoundError(
            f"{folder}: no {PLAN_NAME}, so these are no altered sentences; alter them again"
        )
    listed = read_dataset_manifest(folder, "sentences").to_dict()
    check_file(path, listed, f"delete {folder} and alter the sentences again")
    alterations: dict[int, Alteration] = {}
    intact_in: dict[int, set[str]] = defaultdict(set)
    for row in pq.read_table(path).to_pylist():
        if row["altered_row"] is None:
            intact_in[row["corpus_row"]].add(row["kind"])
        else:
            alterations[row["altered_row"]] = Alteration(row["kind"], row["corpus_row"])
    return Plan(alterations, {row: frozenset(kinds) for row, kinds in intact_in.items()})
