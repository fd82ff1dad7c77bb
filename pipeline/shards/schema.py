"""The explicit Arrow schema of every stage; the one place where a column is defined.

Row ``i`` of shard ``k`` is the same sentence in every stage, so a reader zips columns and never
joins. Legend: n = number of tokens of the sentence, k = number of constituents.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

SCHEMA_VERSION = 1
"""Raised whenever a column is added, removed or changes its meaning; part of every digest."""

VERSION_KEY = b"treeviews.schema_version"
STAGE_KEY = b"treeviews.stage"

_WORD = pa.dictionary(pa.int32(), pa.string())


def _list(type_: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("item", type_, nullable=False))


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a stage; `treeviews inspect schema` prints these words."""

    name: str
    type: pa.DataType | None
    """None where it depends on the stage's folder, as with an encoder's width."""
    meaning: str
    values: str
    """How many there are in a row, which values they take, and their unit."""
    is_nullable: bool = False


EMBEDDINGS = "embeddings"
"""The stage of an encoder's vectors, whose type depends on the encoder."""
EMBEDDING = "embedding"
"""Its one column."""

DESCRIBED: dict[str, tuple[Column, ...]] = {
    "sentences": (
        Column(
            "document_id",
            _WORD,
            "name of the document in its source; all rows of a document are contiguous",
            "one text",
        ),
        Column(
            "sentence_index",
            pa.int32(),
            "position in the document, quarantined sentences counted; two rows are neighbours in "
            "the text only if they share document_id and their indices differ by one",
            "one number, 0, 1, … in sentences",
        ),
        Column(
            "tokens",
            _list(pa.string()),
            "surface words; the white space between them is not kept",
            "n texts, n >= 1, none empty",
        ),
    ),
    "dependencies": (
        Column(
            "heads",
            _list(pa.int16()),
            "position of each token's head; null where the parser could not take the sentence",
            "n numbers, 0 to n: 1-based in tokens, 0 for the root, of which there is exactly one",
            is_nullable=True,
        ),
        Column(
            "deprels",
            _list(_WORD),
            "Universal Dependencies relation of each token to its head; null with heads",
            "n texts, subtypes as in nsubj:pass",
            is_nullable=True,
        ),
    ),
    "constituents": (
        Column(
            "span_starts",
            _list(pa.int16()),
            "first token of each constituent, in preorder (parent first, then children left to "
            "right); the first one is the whole sentence; a unary chain is one entry; all columns "
            "are null where the parser could not take the sentence",
            "k numbers, 0 to n - 1, in tokens",
            is_nullable=True,
        ),
        Column(
            "span_ends",
            _list(pa.int16()),
            "one past the last token of each constituent: [start, end) is half-open",
            "k numbers, 1 to n, in tokens",
            is_nullable=True,
        ),
        Column(
            "span_labels",
            _list(_WORD),
            "label of each constituent; those of a collapsed unary chain are joined by +, "
            "outermost first",
            "k texts, Penn Treebank set, such as NP or S+VP",
            is_nullable=True,
        ),
        Column(
            "tags",
            _list(_WORD),
            "part-of-speech tag of each token",
            "n texts, Penn Treebank set",
            is_nullable=True,
        ),
        Column(
            "binary_left",
            _list(pa.int16()),
            "left child of each inner node of the binarized tree, in preorder (node 0 is the root)",
            "n - 1 numbers: v >= 0 is inner node v, v < 0 is token -1 - v from 0",
            is_nullable=True,
        ),
        Column(
            "binary_right",
            _list(pa.int16()),
            "right child of each inner node of the binarized tree",
            "n - 1 numbers, as in binary_left",
            is_nullable=True,
        ),
    ),
    EMBEDDINGS: (
        Column(
            EMBEDDING,
            None,
            "the sentence's vector; null where the encoder could not take the sentence, such as "
            "one without the parse that it reads",
            "as many numbers as the encoder is wide, without unit",
            is_nullable=True,
        ),
    ),
}
"""Stage -> its columns, of all stages."""

COLUMNS: dict[str, tuple[str, ...]] = {
    stage: tuple(column.name for column in columns) for stage, columns in DESCRIBED.items()
}
"""Stage -> the names of its columns, of all stages."""

VectorType = Literal["float32", "float16"]


@dataclass(frozen=True, slots=True)
class Vectors:
    """What the rows of a stage of embeddings are; part of its schema."""

    width: int
    """Numbers of each."""
    dtype: VectorType = "float32"

    @property
    def type(self) -> pa.DataType:
        """Of a vector, as Arrow has it."""
        number = pa.field("item", pa.type_for_alias(self.dtype), nullable=False)
        return pa.list_(number, self.width)


def schema_for(stage: str, vectors: Vectors | None = None) -> pa.Schema:
    """Returns the Arrow schema of a stage with its name and version in the metadata.

    Args:
        vectors: what the rows of embeddings are; of that stage alone.
    """
    assert (stage == EMBEDDINGS) == (vectors is not None)
    fields = [
        pa.field(column.name, vectors.type if vectors else column.type, nullable=column.is_nullable)
        for column in DESCRIBED[stage]
    ]
    metadata = {VERSION_KEY: str(SCHEMA_VERSION).encode(), STAGE_KEY: stage.encode()}
    return pa.schema(fields, metadata)
