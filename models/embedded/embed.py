"""One shard of sentences, with the parses beside it, to the shard of their embeddings.

Whatever reads tokens and trees is given those of the corpus, by `ReadingEncoder.encode_rows`: its
vectors are those that it gives for sentences which it tokenizes and parses so itself. A function
of the user's own reads text: it is given the tokens joined by spaces.

Legend: n sentences of a row group, d width of an embedding.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from models.embedded.corpus_rows import CorpusRows, CorpusShard, open_shard
from models.encoding.encoder_interface import (
    Encoder,
    FloatArray,
    MeasuredEncoder,
)
from models.encoding.named_encoder import JoinedEncoder, string_encoder
from models.encoding.own_encoder import kept_checksum
from models.encoding.reading_encoder import EncoderSettings, ReadingEncoder
from models.encoding.sentence_reader import ParsedRows
from pipeline.base.digest import digest_of
from pipeline.base.job import Progress, Rated
from pipeline.base.refusal import Refusal, RefusedSentence, excerpt_of
from pipeline.shards.arrow import flags, numbers
from pipeline.shards.manifests import (
    DTYPE,
    ENCODER_DIGEST,
    PARSED_FROM,
    WIDTH,
    ShardManifest,
    check_identity,
    read_shard_manifest,
    shard_path,
)
from pipeline.shards.schema import EMBEDDINGS, Vectors, VectorType, schema_for
from pipeline.shards.shards import ShardWriter

EMBEDDING_VERSION = 1
"""Raised whenever this release makes other rows of the same sentences, parses and encoder."""
PARSES_SHA256 = "parses_sha256"
"""Key of an embedded shard's extra facts: sha256 of each parsed shard that was read."""
ANY_SENTENCE = "It rains ."
"""What a function of the user's own is asked for where there is no sentence to learn its width
from."""


@dataclass(frozen=True, eq=False)
class OpenedEncoder:
    """An encoder, and what the shards say of it."""

    encoder: Encoder
    called: str
    digest: str
    """Of everything that determines the vectors but the sentences and their parses."""
    parsers: Mapping[str, str] = field(default_factory=dict)
    """Parse stage that it reads -> checksum of the parser."""

    @cached_property
    def width(self) -> int:
        """Numbers of an embedding; of a function of the user's own, of what it gives for a text.

        Raises:
            ValueError: the function gives no embedding.
        """
        if _reading(self.encoder):
            assert isinstance(self.encoder, MeasuredEncoder)
            return sum(self.encoder.widths().values())
        return int(self.encoder.encode([ANY_SENTENCE]).shape[1])


def open_encoder(called: str, settings: EncoderSettings, version: str = "") -> OpenedEncoder:
    """Returns the encoder of this name, see `models.encoding.encoder_names`.

    Args:
        settings: sentences that cannot be taken are never an error here.
        version: of a function of the user's own.

    Raises:
        FileNotFoundError: no such encoder.
        ValueError: see `resolve_encoder`; or joined models whose trees are by different parsers.
    """
    encoder = string_encoder(called, settings.changed(on_refusal="zero"))
    models = _reading(encoder)
    if not models:
        content = {"function": called, "version": version, "source": kept_checksum(called)}
        return OpenedEncoder(encoder, called, digest_of(content))
    parsers: dict[str, str] = {}
    for model in models:
        for stage, checksum in model.parsers.items():
            if parsers.setdefault(stage, checksum) != checksum:
                raise ValueError(
                    f"encoder {called}: its models read {stage} by different parsers, and a corpus "
                    "is parsed by one; embed it by one model at a time"
                )
    digest: str = encoder.digest  # type: ignore[attr-defined]
    return OpenedEncoder(encoder, called, digest, parsers)


def _reading(encoder: Encoder) -> list[ReadingEncoder]:
    """Returns the models of an encoder; none of one that reads text."""
    parts = encoder.encoders if isinstance(encoder, JoinedEncoder) else [encoder]
    models = [part for part in parts if isinstance(part, ReadingEncoder)]
    return models if len(models) == len(parts) else []


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedFolders:
    """Where the shards of a corpus lie, and where its embeddings go."""

    sentences: Path
    parses: Mapping[str, Path]
    """Parse stage -> its folder; those that the encoder does not read are not looked at."""
    output: Path

    def open(self, number: int, encoder: OpenedEncoder) -> CorpusShard:
        """Returns the shards of one number that an encoder reads.

        Raises:
            FileNotFoundError: one of them is not complete.
            ValueError: no folder of a stage is given, or see `open_shard`.
        """
        for stage, checksum in encoder.parsers.items():
            if stage not in self.parses:
                raise ValueError(
                    f"encoder {encoder.called} reads {stage}: parse the corpus by the parser of "
                    f"checksum {checksum[:12]}… and give the folder of these parses"
                )
        folders = {stage: self.parses[stage] for stage in encoder.parsers}
        return open_shard(self.sentences, folders, number, parsers=encoder.parsers)


def embed_shard(
    folders: EmbeddedFolders,
    number: int,
    encoder: OpenedEncoder,
    *,
    dtype: VectorType = "float32",
    on_progress: Progress | None = None,
    machine: Mapping[str, Any] | None = None,
) -> ShardManifest:
    """Embeds one shard; returns its manifest, at once where the shard stands already.

    One that stands is taken whatever its encoder was called: of one digest it is the same.

    A sentence that the encoder cannot take, such as one without a parse, keeps its row with a null
    and is quarantined with its reason. A shard without a sentence gives one without a row.

    Args:
        machine: what the manifest is to say of how it was embedded, such as the device.

    Raises:
        FileNotFoundError: a shard that is read is not complete.
        ValueError: it is damaged, of other sentences or by another parser than the encoder's; a
            number is beyond float16; or the output holds a shard by another encoder or of other
            sentences.
    """
    shard = folders.open(number, encoder)
    identity = {
        "encoder": encoder.called,
        ENCODER_DIGEST: encoder.digest,
        DTYPE: dtype,
        PARSED_FROM: shard.manifests["sentences"].sha256,
        PARSES_SHA256: {stage: shard.manifests[stage].sha256 for stage in shard.parses},
    }
    standing = read_shard_manifest(folders.output, number)
    if standing is not None:
        if standing.extra.get(ENCODER_DIGEST) == encoder.digest:
            del identity["encoder"]  # its folder may lie elsewhere, such as on another machine
        check_identity(folders.output, standing, identity)
        return standing
    started = time.monotonic()
    writing = _Writing(folders.output, number, dtype)
    with writing:
        for group in shard.groups():
            writing.add(group, *_vectors(encoder.encoder, group))
            if on_progress is not None:
                done = group.first + len(group)
                rate = done / max(time.monotonic() - started, 1e-9)
                status = f"{done:,} of {shard.num_rows:,} sentences, {rate:,.0f} a second"
                on_progress(done / shard.num_rows, Rated(status, rate))
        facts = identity | dict(machine or {})
        return writing.finish(facts, time.monotonic() - started, lambda: encoder.width)


def _vectors(encoder: Encoder, group: CorpusRows) -> tuple[FloatArray, Sequence[RefusedSentence]]:
    """Returns the vectors of some rows, float32 [n, d], and those that are none."""
    if _reading(encoder):
        views, refused = _views(encoder, group.parsed)
        first, *others = views.values()
        return (np.concatenate([first, *others], axis=1) if others else first), refused
    return encoder.encode([" ".join(words) for words in group.tokens()]), ()


def _views(
    encoder: Encoder, rows: ParsedRows
) -> tuple[Mapping[str, FloatArray], Sequence[RefusedSentence]]:
    if isinstance(encoder, JoinedEncoder):
        parts = [_views(part, rows) for part in encoder.encoders]
        return encoder.join([views for views, _ in parts], [refused for _, refused in parts])
    assert isinstance(encoder, ReadingEncoder)
    return encoder.encode_rows(rows), tuple(encoder.refused)


class _Writing:
    """A shard of embeddings in the making, whose width its first rows tell."""

    def __init__(self, folder: Path, number: int, dtype: VectorType) -> None:
        self._folder, self._number, self._dtype = folder, number, dtype
        self._writer: ShardWriter | None = None
        self._vectors: Vectors | None = None
        self._quarantine: list[dict[str, Any]] = []
        self._num_rows = 0

    def __enter__(self) -> _Writing:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._writer is not None:
            self._writer.__exit__(*exception)

    def add(
        self, group: CorpusRows, vectors: FloatArray, refused: Sequence[RefusedSentence]
    ) -> None:
        """Writes the vectors of some rows; nulls for the refused ones, which are recorded.

        Raises:
            ValueError: a number is too large for float16; names the row and the remedy.
        """
        writer, kind = self._begun(vectors.shape[1])
        with np.errstate(over="ignore"):
            stored = vectors.astype(self._dtype, copy=False)
        beyond = np.flatnonzero(~np.isfinite(stored).all(axis=1))
        if len(beyond):
            path = shard_path(self._folder, self._number)
            raise ValueError(
                f"{path}: the vector of row {group.first + beyond[0]} has a number that "
                f"{self._dtype} cannot hold; give dtype float32"
            )
        writer.write(_table(stored, refused, kind))
        self._record(group, refused)
        self._num_rows += len(group)

    def _begun(self, width: int) -> tuple[ShardWriter, Vectors]:
        """Returns what writes the shard, and the kind of its rows, which the first call tells."""
        if self._writer is None or self._vectors is None:
            self._vectors = Vectors(width, self._dtype)
            self._writer = ShardWriter(
                self._folder, EMBEDDINGS, self._number, vectors=self._vectors
            )
        return self._writer, self._vectors

    def _record(self, group: CorpusRows, refused: Sequence[RefusedSentence]) -> None:
        for one in refused:
            tokens = group.parsed.tokens["tokens"][one.index].as_py()
            refusal = Refusal(one.reason, one.detail, excerpt=excerpt_of(tokens))
            place = {
                name: group.places[name][one.index].as_py() for name in group.places.schema.names
            }
            self._quarantine.append(refusal.record(row=group.first + one.index, **place))

    def finish(
        self, extra: Mapping[str, Any], seconds: float, width: Callable[[], int]
    ) -> ShardManifest:
        """Names the shard and writes its manifest.

        Args:
            width: asked where there was no row.
        """
        writer, kind = self._begun(width() if self._vectors is None else self._vectors.width)
        rate = {"sentences_per_second": round(self._num_rows / max(seconds, 1e-9), 1)}
        return writer.finish(
            drops=Counter(record["reason"] for record in self._quarantine),
            quarantine=self._quarantine,
            extra={**extra, WIDTH: kind.width, **rate},
            seconds=seconds,
        )


def _table(
    vectors: np.ndarray[Any, Any], refused: Sequence[RefusedSentence], kind: Vectors
) -> pa.Table:
    """Returns the rows of a stage of embeddings."""
    schema = schema_for(EMBEDDINGS, kind)
    is_refused = np.zeros(len(vectors), dtype=np.bool_)
    is_refused[[one.index for one in refused]] = True
    rows = pa.FixedSizeListArray.from_arrays(
        numbers(vectors.reshape(-1)),
        type=schema.field(0).type,
        mask=flags(is_refused) if is_refused.any() else None,
    )
    return pa.Table.from_arrays([rows], schema=schema)


def describe_embedding() -> dict[str, Any]:
    """Returns what of this release determines embeddings beside the encoder, for a digest."""
    return {"embedding_version": EMBEDDING_VERSION}
