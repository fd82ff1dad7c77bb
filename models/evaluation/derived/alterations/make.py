"""Writes the altered sentences of all kinds as one dataset to parse."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa

from models.evaluation.derived.alterations.bigram_shift import shift_bigrams
from models.evaluation.derived.alterations.coordination import invert_coordinations
from models.evaluation.derived.alterations.halves import Halves
from models.evaluation.derived.alterations.odd_word import replace_words
from models.evaluation.derived.alterations.plan import write_plan
from models.evaluation.derived.alterations.source import SourceText, read_source
from models.evaluation.derived.held_out.config import ALTERATION_VERSION, ProbingConfig
from models.evaluation.derived.held_out.held_out_rows import HeldOutRow
from pipeline.shards.manifests import DatasetManifest, write_dataset_manifest
from pipeline.shards.shards import rows_in_shard, write_shard

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
    text = read_source(sentences, constituents, config)
    halves = {kind: make(text, config) for kind, make in KINDS.items()}
    if not any(parts.altered for parts in halves.values()):
        raise ValueError(
            f"{sentences}: none of {len(text.sentences)} held-out sentences can be altered; "
            f"{config.hold_out.remedy} or give a larger corpus"
        )
    write_plan(out, halves)
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
