"""One shard of sentences, with the parses beside it, to the shard of their embeddings.

Whatever reads tokens and trees is given those of the corpus, by `Encoder.encode_rows`: its vectors
are those that it gives for sentences which it tokenizes and parses so itself. A function of the
user's own reads text: it is given the tokens joined by spaces. One row group of sentences and the
parses of one shard are in memory at a time.

Legend: n sentences of a row group, d width of an embedding.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from treeviews.models.config.views import COLUMNS
from treeviews.models.corpus.parsed_corpus import check_lengths
from treeviews.models.encoding.encoder import Encoder, EncoderSettings
from treeviews.models.encoding.load_encoder import load_encoder
from treeviews.models.encoding.own_encoder import kept_checksum
from treeviews.models.encoding.search import FloatArray
from treeviews.models.encoding.sentence_reader import TOKENS, Tables, stage_table
from treeviews.models.model.model_description import checksum_of_weights
from treeviews.pipeline.base.digest import digest_of
from treeviews.pipeline.base.job import Progress, Rated
from treeviews.pipeline.base.refusal import Refusal, RefusedSentence, excerpt_of
from treeviews.pipeline.base.settings import Count, Natural, Settings
from treeviews.pipeline.shards.arrow import flags, numbers
from treeviews.pipeline.shards.manifests import (
    DTYPE,
    ENCODER_DIGEST,
    PARSED_FROM,
    WIDTH,
    ShardManifest,
    check_identity,
    is_parsed_from,
    read_shard_manifest,
    read_verified_manifest,
    remedy,
    shard_path,
)
from treeviews.pipeline.shards.schema import EMBEDDINGS, Vectors, VectorType, schema_for
from treeviews.pipeline.shards.shards import ShardWriter, read_row_groups, read_shard

EMBEDDING_VERSION = 1
"""Raised whenever this release makes other rows of the same sentences, parses and encoder."""
PARSES_SHA256 = "parses_sha256"
"""Key of an embedded shard's extra facts: sha256 of each parsed shard that was read."""
_PLACE = ("document_id", "sentence_index")


def describe_embedding() -> dict[str, Any]:
    """Returns what of this release determines embeddings beside the encoder, for a digest."""
    return {"embedding_version": EMBEDDING_VERSION}


def open_encoder(called: str, settings: EncoderSettings, version: str = "") -> Encoder:
    """Returns the encoder of this name with a digest of everything that determines its vectors.

    Args:
        called: see `models.encoding.encoder_names`.
        settings: sentences that cannot be taken are never an error here.
        version: of a function of the user's own.

    Raises:
        FileNotFoundError: no such encoder.
        ValueError: see `load_encoder`.
    """
    encoder = load_encoder(called, settings.changed(on_refusal="zero"))
    if not encoder.has_views:
        content = {"function": called, "version": version, "source": kept_checksum(called)}
        encoder.digest = digest_of(content)
    return encoder


class EmbedShardJob(Settings):
    """Which shards to embed, by which encoder, and where the result goes."""

    called: ClassVar[str] = "embedding job field"

    encoder: str
    """See `models.encoding.encoder_names`."""
    sentences: Path
    """Folder of the sentence shards."""
    output: Path
    """Folder of the embedded shards."""
    number: Natural
    """Number of the first shard, in all folders."""
    count: Count = 1
    """How many shards, that one and those after it."""
    parses: Mapping[str, Path] = {}
    """Parse stage -> folder of the parsed shards, of the stages that the encoder reads."""
    dtype: VectorType = "float32"
    settings: EncoderSettings = EncoderSettings()
    """What the encoder is loaded with, such as its device."""
    version: str = ""
    """Of a function of the user's own."""
    encoder_digest: str = ""
    """Where given, an encoder of another digest is refused."""


def _manifests(job: EmbedShardJob, number: int, encoder: Encoder) -> dict[str, ShardManifest]:
    """Returns the manifest of each shard that an encoder reads: of the same sentences, by its
    parsers.

    Raises:
        FileNotFoundError: one of them is not complete.
        ValueError: no folder of a stage is given; or a shard is damaged, parsed from other
            sentences or by another parser; names the file and the remedy.
    """
    sentences = _complete(job.sentences, number)
    manifests = {"sentences": sentences}
    for stage, checksum in encoder.parsers.items():
        if stage not in job.parses:
            raise ValueError(
                f"encoder {encoder.name} reads {stage}: parse the corpus by the parser of "
                f"checksum {checksum[:12]}… and give the folder of these parses"
            )
        manifests[stage] = parsed = _complete(job.parses[stage], number)
        path = shard_path(job.parses[stage], number)
        if parsed.rows != sentences.rows or not is_parsed_from(parsed, sentences):
            raise ValueError(
                f"{path}: these are parses of another text, not of the sentences in "
                f"{job.sentences}; {remedy(path)}"
            )
        own = checksum_of_weights(str(parsed.extra.get("parser_checksum", "")))
        if own != checksum_of_weights(checksum):
            raise ValueError(
                f"{path}: parsed by {parsed.extra.get('parser', 'a parser without a name')!r} "
                f"(checksum {own[:12]}…), the encoder was trained with the parser of "
                f"checksum {checksum[:12]}…; give parses by that one"
            )
    return manifests


def _complete(folder: Path, number: int) -> ShardManifest:
    manifest = read_verified_manifest(folder, number)
    if manifest is None:
        raise FileNotFoundError(
            f"{shard_path(folder, number)}: not complete; run the stage that writes it again"
        )
    return manifest


def embed_shard(
    job: EmbedShardJob,
    number: int,
    encoder: Encoder,
    on_progress: Progress = lambda share, status: None,
) -> ShardManifest:
    """Embeds one shard; returns its manifest, at once where the shard stands already.

    One that stands is taken whatever its encoder was called: of one digest it is the same.

    A sentence that the encoder cannot take, such as one without a parse, keeps its row with a null
    and is quarantined with its reason. A shard without a sentence gives one without a row.

    Raises:
        FileNotFoundError: a shard that is read is not complete.
        ValueError: it is damaged, of other sentences or by another parser than the encoder's; a
            number is beyond float16; or the output holds a shard by another encoder or of other
            sentences.
    """
    manifests = _manifests(job, number, encoder)
    dtype = job.dtype
    identity = {
        "encoder": encoder.name,
        ENCODER_DIGEST: encoder.digest,
        DTYPE: dtype,
        PARSED_FROM: manifests["sentences"].sha256,
        PARSES_SHA256: {stage: manifests[stage].sha256 for stage in encoder.parsers},
    }
    standing = read_shard_manifest(job.output, number)
    if standing is not None:
        if standing.extra.get(ENCODER_DIGEST) == encoder.digest:
            del identity["encoder"]  # its folder may lie elsewhere, such as on another machine
        check_identity(job.output, standing, identity)
        return standing
    started, num_rows = time.monotonic(), manifests["sentences"].rows
    kind = Vectors(encoder.dimension, dtype)
    quarantine: list[dict[str, Any]] = []
    with ShardWriter(job.output, EMBEDDINGS, number, vectors=kind) as writer:
        for first, group, tables in _row_groups(job, number, list(encoder.parsers)):
            refused: Sequence[RefusedSentence] = ()
            if encoder.has_views:
                vectors, refused = encoder.encode_rows(tables)
            else:
                tokens = group["tokens"].to_pylist()
                vectors = encoder.encode([" ".join(words) for words in tokens])
            place = f"{shard_path(job.output, number)}: from row {first} on"
            writer.write(_table(vectors, refused, kind, place))
            for each in refused:
                row = group.slice(each.index, 1).to_pylist()[0]
                refusal = Refusal(each.reason, each.detail, excerpt=excerpt_of(row["tokens"]))
                where = {name: row[name] for name in _PLACE}
                quarantine.append(refusal.record(row=first + each.index, **where))
            done = first + len(group)
            rate = done / max(time.monotonic() - started, 1e-9)
            status = f"shard {number}: {done:,} of {num_rows:,} sentences, {rate:,.0f} a second"
            on_progress(done / num_rows, Rated(status, rate))
        seconds = time.monotonic() - started
        rate = round(num_rows / max(seconds, 1e-9), 1)
        return writer.finish(
            drops=Counter(record["reason"] for record in quarantine),
            quarantine=quarantine,
            extra={
                **identity,
                "device": encoder.device,
                WIDTH: kind.width,
                "sentences_per_second": rate,
            },
            seconds=seconds,
        )


def _row_groups(
    job: EmbedShardJob, number: int, stages: Sequence[str]
) -> Iterator[tuple[int, pa.Table, Tables]]:
    """Yields row groups of the sentences: the first row, the group, tokens and parses.

    Raises:
        ValueError: a shard is damaged, or a parse does not fit its sentence; names it.
    """
    parses = {
        stage: read_shard(job.parses[stage], stage, number, COLUMNS[stage]) for stage in stages
    }
    first = 0
    for group in read_row_groups(job.sentences, "sentences", number):
        if group.num_rows:
            own = {stage: rows.slice(first, len(group)) for stage, rows in parses.items()}
            for stage, rows in own.items():
                path = shard_path(job.parses[stage], number)
                check_lengths(path, stage, rows, group["tokens"], first)
            tables = {TOKENS: group, **own}
            yield first, group, {stage: stage_table(stage, rows) for stage, rows in tables.items()}
        first += group.num_rows


def _table(
    vectors: FloatArray, refused: Sequence[RefusedSentence], kind: Vectors, place: str
) -> pa.Table:
    """Returns the rows of a stage of embeddings; a null for a sentence that was refused.

    Raises:
        ValueError: a number is too large for float16; names the place and the remedy.
    """
    with np.errstate(over="ignore"):
        stored = vectors.astype(kind.dtype, copy=False)
    if not np.isfinite(stored).all():
        raise ValueError(
            f"{place}: a vector has a number that {kind.dtype} cannot hold; give dtype float32"
        )
    schema = schema_for(EMBEDDINGS, kind)
    is_refused = np.zeros(len(vectors), dtype=np.bool_)
    is_refused[[refusal.index for refusal in refused]] = True
    rows = pa.FixedSizeListArray.from_arrays(
        numbers(stored.reshape(-1)),
        type=schema.field(0).type,
        mask=flags(is_refused) if is_refused.any() else None,
    )
    return pa.Table.from_arrays([rows], schema=schema)
