"""Writes the swapped sentences of the bigram-shift task as a dataset of their own to parse."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pyarrow as pa

from models.evaluation.probing.config import SHIFT_VERSION, ProbingConfig
from models.evaluation.probing.sentences import HeldOutRow, held_out_rows
from models.evaluation.probing.shift_rule import can_be_shifted, is_chosen, shift
from models.evaluation.probing.stable_order import text_key
from pipeline.shards import DatasetManifest, rows_in_shard, write_dataset_manifest, write_shard

NOT_SELECTED = "not_selected"


def make_shifted_sentences(sentences: Path, out: Path, config: ProbingConfig) -> DatasetManifest:
    """Writes half of the held-out sentences with two adjacent words swapped.

    Differs from Conneau et al. 2018 in what may be swapped: see ``shift_rule``. A text that
    occurs more than once is written once; one whose swapped form occurs in the corpus is left
    out.

    Args:
        sentences: a complete sentence stage.
        out: folder of the new sentence stage; rows keep the document and index of the original.

    Returns:
        The new stage's manifest; ``not_selected`` in the extra facts of its first shard counts
        the held-out sentences that were not written, by reason. None of them is refused: their
        intact forms are probed.

    Raises:
        FileNotFoundError: the sentence stage is not complete.
        ValueError: no held-out sentence can be shifted.
    """
    started = time.perf_counter()
    rows = list(held_out_rows(sentences, config))
    texts = {text_key(row.tokens) for row in rows}
    not_selected: Counter[str] = Counter()
    written: dict[str, HeldOutRow] = {}
    for row in rows:
        reason = _why_not(row, written, texts, config)
        if reason is None:
            written[text_key(row.tokens)] = row
        else:
            not_selected[reason] += 1
    if not written:
        raise ValueError(
            f"{sentences}: none of {len(rows)} held-out sentences can be shifted; "
            f"{config.hold_out.remedy} or give a larger corpus"
        )
    _write(list(written.values()), out, not_selected, config)
    return write_dataset_manifest(
        out,
        "sentences",
        config={
            "probing": config.shift_dict(),
            "shift_version": SHIFT_VERSION,
            "made": "bigram shift",
        },
        seconds=time.perf_counter() - started,
    )


def _why_not(
    row: HeldOutRow, written: dict[str, HeldOutRow], texts: set[str], config: ProbingConfig
) -> str | None:
    if not config.min_tokens <= len(row.tokens) <= config.max_tokens:
        return "outside_length_limits"
    if not can_be_shifted(row.tokens):
        return "no_pair_to_swap"
    if not is_chosen(row.tokens, config.seed):
        return "kept_intact"
    if text_key(row.tokens) in written:
        return "duplicate_text"
    if text_key(shift(row.tokens, config.seed)) in texts:
        return "swapped_form_occurs"
    return None


def _write(
    rows: list[HeldOutRow], out: Path, not_selected: Counter[str], config: ProbingConfig
) -> None:
    number = first = 0
    while first < len(rows):
        part = rows[first : first + rows_in_shard(number)]
        table = pa.table(
            {
                "document_id": [row.document_id for row in part],
                "sentence_index": pa.array([row.sentence_index for row in part], pa.int32()),
                "tokens": [list(shift(row.tokens, config.seed)) for row in part],
            }
        )
        extra = {NOT_SELECTED: dict(sorted(not_selected.items()))} if number == 0 else {}
        write_shard(out, "sentences", number, table, drops={}, extra=extra)
        first += len(part)
        number += 1
