"""Embeddings of a list of sentences, computed once and shared by all tasks that read it.

A folder a triple of encoder, sentences and pooling, ``<encoder>/<sentences>/<pooling>/``, holds one
``.npy`` a view and ``manifest.json``; it appears whole, under its name, or not at all.

Legend: n sentences, H width of a view.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import socket
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from models.config.views import Pooling
from models.encoding.encoder_interface import (
    OPAQUE_VIEW,
    CompositeEncoder,
    Encoder,
    FloatArray,
    RefusingEncoder,
    ViewEncoder,
    key_of,
)
from models.encoding.own_encoder import CallableEncoder
from pipeline.base.atomic_files import TEMPORARY_SUFFIX
from pipeline.base.digest import sentences_digest, sha256_of_file
from pipeline.base.inside import inside
from pipeline.base.json_files import unsealed, write_sealed_json
from pipeline.base.refusal import RefusedSentence

logger = logging.getLogger(__name__)

FORMAT_VERSION = 2
MANIFEST_FILE = "manifest.json"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True, eq=False)
class Embeddings:
    """What an encoder makes of sentences."""

    views: dict[str, FloatArray]
    """[n, H] by view and pooling."""
    seconds: float
    """Time that the computation took, now or when they were stored; little if parses were kept."""
    refused: tuple[RefusedSentence, ...]
    """Sentences that the encoder could not take and gave zeros for."""
    from_cache: bool
    """Whether all of them were there already."""

    @property
    def num_refused(self) -> int:
        """How many sentences are zeros."""
        return len(self.refused)


class EmbeddingCache:
    """Embeddings by what determines them; without a folder nothing is kept."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def embeddings(
        self,
        encoder: Encoder,
        sentences: Sequence[str],
        pooling: Sequence[Pooling] = ("last",),
        *,
        name: str | None = None,
    ) -> Embeddings:
        """Returns the embeddings, from the folder as far as they stand there.

        Those of an encoder that takes its views from others are kept as the others' own.

        Args:
            encoder: one that knows no views gives the view ``0-encoder.last``, whatever the
                pooling.
            sentences: in an order that is part of what they are found by.
            pooling: how a view's states become one vector.
            name: what an encoder without a digest is found by. It is for the user to change it
                when the encoder does; without it, such an encoder's embeddings are not kept. A
                function's are found by the size of its batches too.

        Raises:
            ValueError: a name or digest that is no file name, or what the encoder says of its
                input: of sentences that it refuses too, if that is its error, whatever stands
                there.
        """
        if isinstance(encoder, CompositeEncoder):
            return self._joined(encoder, sentences, pooling)
        if not isinstance(encoder, ViewEncoder):
            pooling = ("last",)
        place = self._place(encoder, sentences, name)
        found = {} if place is None else _stored(place, pooling, len(sentences))
        if isinstance(encoder, RefusingEncoder) and encoder.fails_on_refusal:
            # Computed again, which fails and says why, as it would without a cache.
            found = {pool: stored for pool, stored in found.items() if not stored.refused}
        if missing := [pool for pool in pooling if pool not in found]:
            made = _computed(encoder, sentences, missing)
            if place is not None:
                for pool, stored in made.items():
                    _store(place / pool, stored)
            found |= made
        return _together([found[pool] for pool in pooling])

    def _joined(
        self, encoder: CompositeEncoder, sentences: Sequence[str], pooling: Sequence[Pooling]
    ) -> Embeddings:
        parts = [self.embeddings(one, sentences, pooling) for one in encoder.encoders]
        views, refused = encoder.join(
            [part.views for part in parts], [part.refused for part in parts]
        )
        return Embeddings(
            views,
            seconds=sum(part.seconds for part in parts),
            refused=refused,
            from_cache=all(part.from_cache for part in parts),
        )

    def _place(self, encoder: Encoder, sentences: Sequence[str], name: str | None) -> Path | None:
        if name is not None and not _NAME.fullmatch(name):
            raise ValueError(
                f"cache name {name!r}: give letters, digits, points, hyphens and underscores"
            )
        digest = encoder.digest if isinstance(encoder, ViewEncoder) else None
        if digest is not None and not _NAME.fullmatch(digest):
            raise ValueError(
                f"the encoder's digest {digest!r} names a folder of the cache: give letters, "
                "digits, points, hyphens and underscores, such as a sha256 in hexadecimal"
            )
        if self.folder is None or (digest or name) is None:
            return None
        identity = digest if digest is not None else f"named-{name}"
        if isinstance(encoder, CallableEncoder):
            identity = f"{identity}-{encoder.batch_size}"
        return self.folder / identity / sentences_digest(sentences)


def _together(parts: Sequence[Embeddings]) -> Embeddings:
    """Returns the embeddings by several poolings, those of a view beside each other."""
    views = {key: matrix for part in parts for key, matrix in part.views.items()}
    return Embeddings(
        views={key: views[key] for key in sorted(views, key=lambda key: key.rpartition(".")[0])},
        seconds=sum(part.seconds for part in parts),
        refused=max((part.refused for part in parts), key=len),
        from_cache=all(part.from_cache for part in parts),
    )


def _computed(
    encoder: Encoder, sentences: Sequence[str], pooling: Sequence[Pooling]
) -> dict[Pooling, Embeddings]:
    """Returns the embeddings by each pooling; they share one computation and its time."""
    started = time.perf_counter()
    if isinstance(encoder, ViewEncoder):
        views = encoder.encode_views(sentences, pooling)
    else:
        views = {key_of(OPAQUE_VIEW, "last"): np.asarray(encoder.encode(sentences), np.float32)}
    for key, matrix in views.items():
        if matrix.ndim != 2 or len(matrix) != len(sentences) or not np.isfinite(matrix).all():
            raise ValueError(
                f"the encoder's {key} has shape {list(matrix.shape)} for {len(sentences)} "
                "sentences, or values that are not finite"
            )
    seconds = (time.perf_counter() - started) / len(pooling)
    refused = tuple(encoder.refused) if isinstance(encoder, RefusingEncoder) else ()
    return {name: Embeddings(_of_pooling(views, name), seconds, refused, False) for name in pooling}


def _of_pooling(views: dict[str, FloatArray], pooling: Pooling) -> dict[str, FloatArray]:
    """Returns the arrays of a pooling; of a bag without a last state, its mean."""
    chosen = {key: matrix for key, matrix in views.items() if key.endswith(f".{pooling}")}
    if not chosen and pooling == "last":
        return {key: matrix for key, matrix in views.items() if key.endswith(".mean")}
    return chosen


def _stored(
    place: Path, pooling: Sequence[Pooling], num_sentences: int
) -> dict[Pooling, Embeddings]:
    """Returns what stands whole; what is broken is said, removed and computed again."""
    found: dict[Pooling, Embeddings] = {}
    for name in pooling:
        folder = place / name
        if not folder.exists():
            continue
        try:
            found[name] = _read(folder, num_sentences)
        except (OSError, ValueError, RecursionError, KeyError, TypeError) as error:
            logger.warning("%s: broken embeddings are computed again: %s", folder, error)
            shutil.rmtree(folder, ignore_errors=True)
    return found


def _read(folder: Path, num_sentences: int) -> Embeddings:
    manifest: dict[str, Any] = unsealed((folder / MANIFEST_FILE).read_bytes())
    if manifest["format_version"] != FORMAT_VERSION:
        raise ValueError(f"format version {manifest['format_version']}")
    views = {}
    for key, sha256 in manifest["views"].items():
        path = inside(folder, f"{key}.npy")
        if sha256_of_file(path) != sha256:
            raise ValueError(f"{path.name} has another checksum than its manifest says")
        views[key] = np.load(path, allow_pickle=False)
        if len(views[key]) != num_sentences:
            raise ValueError(f"{path.name} holds {len(views[key])} rows")
    refused = tuple(RefusedSentence(**values) for values in manifest["refused"])
    return Embeddings(views, manifest["seconds"], refused, True)


def _store(folder: Path, embeddings: Embeddings) -> None:
    """Writes embeddings beside their place and renames them into it."""
    _sweep_unfinished(folder.parent)
    writer = f"{socket.gethostname()}.{os.getpid()}"
    unfinished = folder.with_name(f"{folder.name}.{writer}{TEMPORARY_SUFFIX}")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    for key, matrix in embeddings.views.items():
        np.save(unfinished / f"{key}.npy", matrix, allow_pickle=False)
    manifest = {
        "format_version": FORMAT_VERSION,
        "views": {key: sha256_of_file(unfinished / f"{key}.npy") for key in embeddings.views},
        "seconds": round(embeddings.seconds, 3),
        "refused": [asdict(refusal) for refusal in embeddings.refused],
    }
    write_sealed_json(unfinished / MANIFEST_FILE, manifest)
    try:
        unfinished.rename(folder)
    except OSError:
        if not folder.exists():
            raise
        shutil.rmtree(unfinished)  # another process was faster, with the same embeddings


def _sweep_unfinished(place: Path) -> None:
    """Removes what processes of this machine left there when they were killed."""
    writer = re.compile(
        rf".*\.{re.escape(socket.gethostname())}\.(\d+){re.escape(TEMPORARY_SUFFIX)}"
    )
    for folder in place.glob(f"*{TEMPORARY_SUFFIX}"):
        found = writer.fullmatch(folder.name)
        if found is not None and not _is_running(int(found[1])):
            logger.info("%s: unfinished, its process is gone; removed", folder)
            shutil.rmtree(folder, ignore_errors=True)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True  # another user's, or no number of a process: not ours to remove
    return True
