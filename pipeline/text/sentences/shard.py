"""Collects the sentences of one shard while they arrive, and writes them."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.shards.manifests import ShardManifest
from pipeline.shards.schema import SENTENCES
from pipeline.shards.shards import rows_in_shard, write_shard


@dataclass(frozen=True, slots=True)
class Position:
    """How far into its source a run has come; where a killed one goes on."""

    documents: int = 0
    """Documents begun."""
    items: int = 0
    """Paragraphs and refusals consumed, over all documents."""
    next_sentence_index: int = 0
    """Index of the next sentence of the last document begun."""
    rows: int = 0
    """Sentences kept so far, over all shards."""


@dataclass(slots=True)
class SentenceShard:
    """The rows, refusals and repairs of one shard in the making."""

    number: int
    document_ids: list[str] = field(default_factory=list)
    sentence_indices: list[int] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    quarantine: list[dict[str, Any]] = field(default_factory=list)
    repaired_characters: int = 0
    started: float = field(default_factory=time.monotonic)

    @property
    def is_full(self) -> bool:
        """Whether the shard has the sentences its number calls for, kept and refused.

        The refused count too, so that a text of which nothing is kept neither fills the memory
        nor is read from its beginning after every interruption.
        """
        return len(self.lengths) + len(self.quarantine) >= rows_in_shard(self.number)

    def add(self, document_id: str, sentence_index: int, tokens: list[str]) -> None:
        """Adds one sentence."""
        self.document_ids.append(document_id)
        self.sentence_indices.append(sentence_index)
        self.tokens.extend(tokens)
        self.lengths.append(len(tokens))

    def to_table(self) -> pa.Table:
        """Returns the rows, in the schema of the stage ``sentences``."""
        offsets = np.concatenate([[0], np.cumsum(self.lengths, dtype=np.int64)]).astype(np.int32)
        tokens = pa.ListArray.from_arrays(
            pa.array(offsets), pa.array(self.tokens, pa.string()), SENTENCES.field("tokens").type
        )
        columns = [
            pa.array(self.document_ids, pa.string()).dictionary_encode(),
            pa.array(self.sentence_indices, pa.int32()),
            tokens,
        ]
        return pa.Table.from_arrays(columns, schema=SENTENCES)

    def write(self, folder: Path, position: Position, fingerprint: str) -> ShardManifest:
        """Writes the shard and its manifest.

        Args:
            position: reached in the source once this shard's last paragraph was consumed.
            fingerprint: digest of source and configuration, checked when a run is resumed.
        """
        drops = Counter(record["reason"] for record in self.quarantine)
        return write_shard(
            folder,
            "sentences",
            self.number,
            self.to_table(),
            drops=drops,
            quarantine=self.quarantine,
            extra={
                "position": asdict(position),
                "fingerprint": fingerprint,
                "num_tokens": len(self.tokens),
                "repaired_characters": self.repaired_characters,
            },
            seconds=time.monotonic() - self.started,
        )
