"""Which sentences are kept out of training: a pure function of their place in the text."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from treeviews.pipeline.base.settings import Count, Option, Settings, Share

HeldOutUnit = Literal["document", "block"]

HELD_OUT_REMEDY = (
    "change --held-out-fraction, or hold out blocks of sentences (--held-out-unit block), or "
    "shorter ones (held_out_block_sentences)"
)
"""What to do where too few sentences are held out, or are left to train on."""
_RANGE = 1 << 64


class HoldOut(Settings):
    """A choice of units of text that are held out.

    It depends on names and positions alone, so training, held-out accuracy and probing agree
    without a file between them, and a document added to a corpus moves no other one. A document
    that is renamed may change sides.
    """

    called: ClassVar[str] = "held-out setting"

    fraction: Annotated[Share, Option("held_out_fraction")] = 0.3
    """Share of the documents held out for evaluation, from 0 to 1."""
    seed: Annotated[int, Option("held_out_seed")] = 0
    """Seed for choosing the held-out documents."""
    unit: Annotated[HeldOutUnit, Option("held_out_unit")] = "document"
    """What is held out: whole documents, or blocks of 50 successive sentences for texts with few
    documents. With blocks, text of one author is on both sides, so documents are stricter."""
    block_sentences: Count = 50
    """Length of a block. No context pair crosses from training to held-out sentences, as neither
    side has the other's; but neighbours at a block's edges speak of the same things."""

    @classmethod
    def of(cls, settings: Any) -> HoldOut:
        """Returns the choice that ``held_out_fraction`` and its like ask for."""
        return cls(**{name: getattr(settings, f"held_out_{name}") for name in cls.model_fields})

    def unit_of(self, document_id: str, sentence_index: int) -> str:
        """Returns the name of the unit that a sentence belongs to."""
        if self.unit == "document":
            return document_id
        return f"{document_id}\t{sentence_index // self.block_sentences}"

    def takes(self, unit: str) -> bool:
        """Returns whether a unit is held out."""
        digest = hashlib.sha256(f"{self.seed}:{unit}".encode()).digest()
        return int.from_bytes(digest[:8], "big") < self.fraction * _RANGE

    def mask(self, table: Any) -> NDArray[np.bool_]:
        """Returns which rows of an Arrow table of sentences are held out, [n].

        Each unit is hashed once.
        """
        if not len(table):
            return np.zeros(0, dtype=np.bool_)
        documents = table["document_id"].cast("string").combine_chunks().dictionary_encode()
        blocks = np.zeros(len(table), dtype=np.int64)
        if self.unit == "block":
            blocks = table["sentence_index"].to_numpy() // self.block_sentences
        num_blocks = int(blocks.max()) + 1
        keys = documents.indices.to_numpy().astype(np.int64) * num_blocks + blocks
        distinct, of_row = np.unique(keys, return_inverse=True)
        names, length = documents.dictionary.to_pylist(), self.block_sentences
        taken = [
            self.takes(self.unit_of(names[key // num_blocks], key % num_blocks * length))
            for key in distinct.tolist()
        ]
        mask: NDArray[np.bool_] = np.array(taken, dtype=np.bool_)[of_row]
        return mask
