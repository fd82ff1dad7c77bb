"""Sentences, one a line of a file, to a matrix with a row each, as ``treeviews encode`` does."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

import numpy as np

from models.config.views import Pooling
from models.encoding.encoder_interface import Encoder, FloatArray, ViewEncoder
from models.encoding.reading_encoder import ReadingEncoder
from pipeline.base.atomic_files import TEMPORARY_SUFFIX


def lines_of(content: bytes, name: str) -> list[str]:
    """Returns the lines of UTF-8 text; a last one counts, an empty rest behind it does not.

    Args:
        content: of a file.
        name: of the file, for messages.

    Raises:
        ValueError: no lines, or one that is not UTF-8.
    """
    lines = content.split(b"\n")  # other breaks, such as form feeds, are white space in a sentence
    if lines[-1] == b"":
        lines.pop()
    if not lines:
        raise ValueError(f"{name}: no sentences; give one a line")
    sentences = []
    for number, line in enumerate(lines, 1):
        try:
            sentences.append(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise ValueError(f"{name}:{number}: not UTF-8 ({error.reason}); convert it") from error
    return sentences


def embed(
    encoder: Encoder,
    name: str,
    sentences: Sequence[str],
    pooling: tuple[Pooling, ...] = ("last",),
    on_progress: Callable[[float], None] | None = None,
) -> FloatArray:
    """Returns float32 [n, d]: all views and poolings of every sentence, side by side.

    Args:
        encoder: any.
        name: what the user calls it, for messages.
        sentences: n of them.
        pooling: of encoders that give views.
        on_progress: is told the share that is done, by encoders that know it.

    Raises:
        ValueError: a pooling of an encoder that gives no views, or whatever the encoder refuses.
    """
    if not isinstance(encoder, ViewEncoder):
        if pooling != ("last",):
            raise ValueError(f"{name} gives no states to pool; leave out --pooling")
        return encoder.encode(sentences)
    if isinstance(encoder, ReadingEncoder) and on_progress is not None:
        views = encoder.encode_views(sentences, pooling, on_progress=on_progress)
    else:
        views = encoder.encode_views(sentences, pooling)
    return np.concatenate(list(views.values()), axis=1)


def write_matrix(embeddings: FloatArray, target: Path) -> None:
    """Writes a ``.npy`` file, which appears whole or not at all.

    Raises:
        OSError: it cannot be written there.
    """
    temporary = target.with_name(f"{target.name}.{os.getpid()}{TEMPORARY_SUFFIX}")
    try:
        with temporary.open("wb") as stream:
            write_stream(embeddings, stream)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def write_stream(embeddings: FloatArray, stream: IO[bytes]) -> None:
    """Writes the same to a stream, which may be a pipe: `numpy.save` asks for a position in it."""
    rows = np.ascontiguousarray(embeddings)
    np.lib.format.write_array_header_1_0(stream, np.lib.format.header_data_from_array_1_0(rows))
    stream.write(rows.data)
    stream.flush()
