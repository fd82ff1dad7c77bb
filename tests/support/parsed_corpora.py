"""Small parsed corpora, made by hand, for tests of whatever reads one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
from safetensors.numpy import save_file

from tests.support.shard_files import write_shard
from treeviews.models.corpus.parsed_corpus import CorpusFolders
from treeviews.models.corpus.sentence_block import SentenceBlock
from treeviews.pipeline.shards.manifests import PARSED_FROM, ShardManifest, write_dataset_manifest
from treeviews.pipeline.shards.schema import schema_for

T = TypeVar("T")
Document = Sequence[Sequence[str]]

NOUNS = ("cat", "dog", "bird", "fish", "cow", "horse", "goat", "mouse")
VERBS = ("sees", "likes", "chases", "hears", "follows", "finds")
PLACES = ("here", "outside", "today", "again", "slowly", "twice")


def stories(count: int, *, sentences: int = 8) -> dict[str, Document]:
    """Returns documents that each keep to one noun, so that context can be predicted."""
    random = np.random.default_rng(7)
    documents: dict[str, Document] = {}
    for number in range(count):
        noun = NOUNS[number % len(NOUNS)]
        documents[f"story-{number:03d}"] = [
            ["the", noun, str(random.choice(VERBS)), "the", str(random.choice(NOUNS))]
            + [str(random.choice(PLACES))] * int(random.integers(0, 3))
            for _ in range(sentences)
        ]
    return documents


def chain_heads(length: int) -> list[int]:
    """Returns heads in which every token hangs on the one before it."""
    return list(range(length))


def left_branching(length: int) -> tuple[list[int], list[int]]:
    """Returns the binary children of ((((w0 w1) w2) …) wn-1), inner nodes in preorder."""
    left = [node + 1 for node in range(length - 2)] + [-1] * (length > 1)
    return left, [node - length for node in range(length - 1)]


def block_of(
    lengths: Sequence[int],
    token_ids: Sequence[int] | np.ndarray,
    documents: Sequence[int] | None = None,
) -> SentenceBlock:
    """Returns sentences of these lengths with chains for trees; by default of one document."""
    of_row = [0] * len(lengths) if documents is None else list(documents)
    trees = [left_branching(length) for length in lengths]
    return SentenceBlock(
        token_ids=np.array(token_ids, dtype=np.int32),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        documents=np.array(of_row, dtype=np.int32),
        sentence_index=np.array([of_row[:k].count(d) for k, d in enumerate(of_row)], np.int32),
        rows=np.arange(len(lengths)),
        heads=np.concatenate([chain_heads(length) for length in lengths]).astype(np.int16),
        binary_left=np.concatenate([left for left, _ in trees]).astype(np.int16),
        binary_right=np.concatenate([right for _, right in trees]).astype(np.int16),
    )


def write_corpus(
    folder: Path,
    documents: Mapping[str, Document],
    *,
    rows_per_shard: int = 1000,
    without_heads: Sequence[int] = (),
    without_constituents: Sequence[int] = (),
    without_sentence: Sequence[int] = (),
    says_what_was_parsed: bool = False,
) -> CorpusFolders:
    """Writes all three stages of a corpus.

    Args:
        without_heads: rows whose dependency parse is null.
        without_constituents: rows whose constituency parse is null.
        without_sentence: rows left out of all stages, as quarantined sentences are.
        says_what_was_parsed: whether the trees' manifests name the sentences, as parsing has them.
    """
    rows = [
        (name, index, list(tokens))
        for name, sentences in documents.items()
        for index, tokens in enumerate(sentences)
    ]
    rows = [row for number, row in enumerate(rows) if number not in without_sentence]
    folders = CorpusFolders(
        sentences=folder / "sentences",
        dependencies=folder / "dependencies",
        constituents=folder / "constituents",
    )
    for shard, start in enumerate(range(0, len(rows), rows_per_shard)):
        part = rows[start : start + rows_per_shard]
        numbers = range(start, start + len(part))
        lengths = [len(tokens) for _, _, tokens in part]
        source = _write(
            folder,
            "sentences",
            shard,
            {
                "document_id": [name for name, _, _ in part],
                "sentence_index": [index for _, index, _ in part],
                "tokens": [tokens for _, _, tokens in part],
            },
        )
        parsed = [number not in without_heads for number in numbers]
        _write(
            folder,
            "dependencies",
            shard,
            {
                "heads": _where(parsed, [chain_heads(n) for n in lengths]),
                "deprels": _where(parsed, [["dep"] * n for n in lengths]),
            },
            extra={PARSED_FROM: source.sha256} if says_what_was_parsed else {},
        )
        parsed = [number not in without_constituents for number in numbers]
        trees = [left_branching(n) for n in lengths]
        _write(
            folder,
            "constituents",
            shard,
            {
                "span_starts": _where(parsed, [[0] for _ in lengths]),
                "span_ends": _where(parsed, [[n] for n in lengths]),
                "span_labels": _where(parsed, [["S"] for _ in lengths]),
                "tags": _where(parsed, [["NN"] * n for n in lengths]),
                "binary_left": _where(parsed, [left for left, _ in trees]),
                "binary_right": _where(parsed, [right for _, right in trees]),
            },
            extra={PARSED_FROM: source.sha256} if says_what_was_parsed else {},
        )
    for stage in ("sentences", "dependencies", "constituents"):
        write_dataset_manifest(folder / stage, stage, config={})
    return folders


def _where(flags: Sequence[bool], values: Sequence[T]) -> list[T | None]:
    return [value if flag else None for flag, value in zip(flags, values, strict=True)]


def _write(
    folder: Path,
    stage: str,
    shard: int,
    columns: Mapping[str, list[object]],
    extra: Mapping[str, str] | None = None,
) -> ShardManifest:
    schema = schema_for(stage)
    arrays = [pa.array(columns[name], type=schema.field(name).type) for name in schema.names]
    table = pa.Table.from_arrays(arrays, schema=schema)
    return write_shard(folder / stage, stage, shard, table, extra=extra)


def write_vectors(folder: Path, *, size: int = 12) -> Path:
    """Writes vectors of the stories' words, drawn at random."""
    words = ["the", *NOUNS, *VERBS, *PLACES]
    rows = np.random.default_rng(3).normal(size=(len(words), size)).astype(np.float16)
    folder.mkdir(parents=True)
    save_file({"vectors": rows}, folder / "vectors.safetensors")
    (folder / "words.json").write_text(json.dumps(words), encoding="utf-8")
    return folder
