"""Tokens and parses of raw sentences, made once and shared by all encoders that read them.

Each stage has a folder of its own, named by everything that determines its rows but the sentences
(``config.json`` spells that out), so that an encoder of one parse shares with one of two. Sentences
are kept in the pieces in which they were read::

    tokens-<digest>/         <sentences>.parquet  <sentences>.json
    dependencies-<digest>/   <sentences>.parquet  <sentences>.json
    constituents-<digest>/   <sentences>.parquet  <sentences>.json

A piece exists when its manifest does, which holds the sha256 of its rows and is written last: a
parse that was killed goes on with the first piece that is missing.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from models.encoding.parse_table import rejections_of, schema_of
from pipeline.base.atomic_files import write_bytes_atomically, write_json_atomically
from pipeline.base.digest import digest_of, sentences_digest

logger = logging.getLogger(__name__)

FORMAT_VERSION = 1
"""Raised when a piece would be written otherwise; pieces of another version are not looked at."""
CONFIG_FILE = "config.json"


class ParseCache:
    """What stages made of pieces of sentences, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def table(
        self,
        stage: str,
        content: Mapping[str, Any],
        sentences: Sequence[str],
        make: Callable[[], pa.Table],
    ) -> pa.Table:
        """Returns a stage's rows of these sentences, made and kept if they do not stand there.

        A piece that is damaged is said, made again and overwritten.

        Args:
            stage: see `models.encoding.parse_table.schema_of`.
            content: everything but the sentences that determines the rows, JSON-serialisable.
            sentences: in their order, which is part of what a piece is found by.
            make: gives the rows.
        """
        content = {**content, "format_version": FORMAT_VERSION}
        place = self.folder / f"{stage}-{digest_of(content)}"
        piece = place / f"{sentences_digest(sentences)}.parquet"
        try:
            return _read(piece, stage, len(sentences))
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, TypeError) as error:
            logger.warning("%s: a broken piece is made again: %s", piece, error)
        started = time.perf_counter()
        table = make()
        seconds = time.perf_counter() - started
        if not (place / CONFIG_FILE).exists():
            place.mkdir(parents=True, exist_ok=True)
            write_json_atomically(place / CONFIG_FILE, content)
        _write(piece, table, seconds)
        return table


def _manifest_path(piece: Path) -> Path:
    return piece.with_suffix(".json")


def _read(piece: Path, stage: str, num_sentences: int) -> pa.Table:
    """Returns a piece's rows.

    Raises:
        FileNotFoundError: no such piece.
        OSError, ValueError, KeyError, TypeError: it is damaged.
    """
    manifest: dict[str, Any] = json.loads(_manifest_path(piece).read_text(encoding="utf-8"))
    content = piece.read_bytes()
    if hashlib.sha256(content).hexdigest() != manifest["sha256"]:
        raise ValueError("its checksum is another than its manifest says")
    table = pq.read_table(pa.BufferReader(content))
    if len(table) != num_sentences or not table.schema.equals(schema_of(stage)):
        raise ValueError(f"{len(table)} rows of {table.schema.names}")
    return table


def _write(piece: Path, table: pa.Table, seconds: float) -> None:
    """Writes a piece's rows, then the manifest that makes them count."""
    stream = pa.BufferOutputStream()
    pq.write_table(table, stream, compression="zstd", compression_level=3)
    content = stream.getvalue().to_pybytes()
    write_bytes_atomically(piece, content)
    manifest = {
        "rows": len(table),
        "refused": Counter(rejection.reason for rejection in rejections_of(table).values()),
        "sha256": hashlib.sha256(content).hexdigest(),
        "seconds": round(seconds, 3),
    }
    write_json_atomically(_manifest_path(piece), manifest)
