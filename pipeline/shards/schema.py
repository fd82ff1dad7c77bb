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


def _field(name: str, type_: pa.DataType, *, nullable: bool = False) -> pa.Field:
    return pa.field(name, type_, nullable=nullable)


def _list(type_: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("item", type_, nullable=False))


SENTENCES = pa.schema(
    [
        # Name of the document in its source; all rows of a document are contiguous.
        _field("document_id", _WORD),
        # Position in the document, counting quarantined sentences too (0, 1, …): two rows are
        # neighbours in the text only if they share document_id and their indices differ by one.
        _field("sentence_index", pa.int32()),
        # Surface words, n >= 1, none empty.
        _field("tokens", _list(pa.string())),
    ]
)

DEPENDENCIES = pa.schema(
    [
        # Length n; heads[i] is the 1-based position of token i+1's head, 0 for the root, of which
        # there is exactly one. Null where the parser could not take the sentence.
        _field("heads", _list(pa.int16()), nullable=True),
        # Length n; Universal Dependencies relation of each token to its head. Null with heads.
        _field("deprels", _list(_WORD), nullable=True),
    ]
)

CONSTITUENTS = pa.schema(
    [
        # Length k; constituents in preorder (parent first, then children left to right) as
        # half-open token ranges [start, end). The first one is the whole sentence. Unary chains
        # are one entry. All columns are null where the parser could not take the sentence.
        _field("span_starts", _list(pa.int16()), nullable=True),
        _field("span_ends", _list(pa.int16()), nullable=True),
        # Length k; the labels of a collapsed unary chain joined by "+", outermost first.
        _field("span_labels", _list(_WORD), nullable=True),
        # Length n; part-of-speech tag of each token (Penn Treebank set).
        _field("tags", _list(_WORD), nullable=True),
        # Length n - 1 each; children of the binarized tree's inner nodes in preorder (node 0 is
        # the root). A value >= 0 is an inner node, a value < 0 is the token -1 - value.
        _field("binary_left", _list(pa.int16()), nullable=True),
        _field("binary_right", _list(pa.int16()), nullable=True),
    ]
)

STAGES: dict[str, pa.Schema] = {
    "sentences": SENTENCES,
    "dependencies": DEPENDENCIES,
    "constituents": CONSTITUENTS,
}
"""Stages of which every corpus has the same columns of the same types."""

EMBEDDINGS = "embeddings"
"""The stage of an encoder's vectors, whose type depends on the encoder."""
EMBEDDING = "embedding"
"""Its one column."""
COLUMNS: dict[str, tuple[str, ...]] = {
    **{stage: tuple(schema.names) for stage, schema in STAGES.items()},
    EMBEDDINGS: (EMBEDDING,),
}
"""Stage -> the names of its columns, of all stages."""

VectorType = Literal["float32", "float16"]


@dataclass(frozen=True, slots=True)
class Vectors:
    """What the rows of a stage of embeddings are; part of its schema."""

    width: int
    """Numbers of each."""
    dtype: VectorType = "float32"

    def schema(self) -> pa.Schema:
        """Returns the columns."""
        number = {"float32": pa.float32(), "float16": pa.float16()}[self.dtype]
        item = pa.field("item", number, nullable=False)
        # One vector a sentence. Null where the encoder could not take the sentence, such as one
        # without the parse that it reads.
        return pa.schema([_field(EMBEDDING, pa.list_(item, self.width), nullable=True)])


def schema_for(stage: str, vectors: Vectors | None = None) -> pa.Schema:
    """Returns the Arrow schema of a stage with its name and version in the metadata.

    Args:
        vectors: what the rows of embeddings are; of that stage alone.

    Raises:
        ValueError: no such stage.
    """
    if stage not in COLUMNS:
        raise ValueError(f"unknown stage {stage!r}; known: {', '.join(COLUMNS)}")
    assert (stage == EMBEDDINGS) == (vectors is not None)
    columns = STAGES[stage] if vectors is None else vectors.schema()
    metadata = {VERSION_KEY: str(SCHEMA_VERSION).encode(), STAGE_KEY: stage.encode()}
    return columns.with_metadata(metadata)
