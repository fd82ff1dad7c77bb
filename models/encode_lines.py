"""A file of sentences, one a line, to a ``.npy`` file with a row each, piece by piece.

However long the text is, a piece of it and its vectors are in memory. Rows are written as they
come; the file's header, which says how many there are, keeps its length and is written again at the
end. Pieces are cut where encoders cut, so the rows are those of encoding all lines at once.

Legend: n sentences, d width of an embedding.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

import numpy as np

from models.encoding.encoder_interface import FloatArray
from models.encoding.string_encoder import Asked, StringEncoder
from models.search.similarity import normalized
from pipeline.base.atomic_files import write_by_library
from pipeline.base.foreign_text import decoded_lines
from pipeline.base.refusal import RefusedSentence

LINES_AT_ONCE = 32_768
"""A whole number of what encoders read at once."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """What was written."""

    sentences: int
    """n."""
    width: int
    """d."""
    refused: tuple[RefusedSentence, ...]
    """Sentences that became zeros, numbered over all lines from 0."""


def encode_file(
    encoder: StringEncoder,
    lines: IO[bytes],
    name: str,
    target: Path,
    asked: Asked | None = None,
    *,
    normalize: bool = False,
    show_progress: bool = False,
    on_progress: Callable[[int], None] | None = None,
) -> Encoded:
    """Writes the vectors of a text's lines to a file, which appears whole or not at all.

    Args:
        encoder: any, as `models.load` gives it.
        lines: UTF-8; a last line without a break counts, an empty rest does not.
        name: of the text, for messages.
        target: the ``.npy`` file.
        asked: how to encode.
        normalize: whether each row is given length 1.
        show_progress: whether to draw a bar a piece on standard error.
        on_progress: told the number of sentences done, piece by piece.

    Raises:
        OSError: the file cannot be written there.
        ValueError: no lines, one that is not UTF-8, or what the encoder refuses; names the line.
    """
    found: list[Encoded] = []

    def write(path: Path) -> None:
        with path.open("w+b") as stream:
            found.append(
                _write(
                    *(encoder, lines, name, stream, asked or Asked()),
                    normalize=normalize,
                    show_progress=show_progress,
                    on_progress=on_progress,
                )
            )

    write_by_library(target, write)
    return found[0]


def encode_lines(
    encoder: StringEncoder,
    lines: IO[bytes],
    name: str,
    out: IO[bytes],
    asked: Asked | None = None,
    *,
    normalize: bool = False,
    show_progress: bool = False,
    on_progress: Callable[[int], None] | None = None,
) -> Encoded:
    """Writes the vectors of a text's lines to a stream; arguments as of `encode_file`.

    A pipe and a file that is appended to have no positions: all is written when it is known.

    Raises:
        OSError, ValueError: see `encode_file`.
    """
    with tempfile.TemporaryDirectory() as folder:
        waiting = Path(folder) / "vectors.npy"
        found = encode_file(
            *(encoder, lines, name, waiting, asked),
            normalize=normalize,
            show_progress=show_progress,
            on_progress=on_progress,
        )
        with waiting.open("rb") as stream:
            shutil.copyfileobj(stream, out, 1 << 20)
    out.flush()
    return found


def _write(
    encoder: StringEncoder,
    lines: IO[bytes],
    name: str,
    out: IO[bytes],
    asked: Asked,
    *,
    normalize: bool,
    show_progress: bool,
    on_progress: Callable[[int], None] | None,
) -> Encoded:
    """Writes the vectors to a file that is empty; arguments as of `encode_file`."""
    done, width = 0, 0
    refused: list[RefusedSentence] = []
    for piece in _pieces(lines, name, LINES_AT_ONCE):
        vectors = _encoded(encoder, piece, asked, done, show_progress=show_progress)
        if normalize:
            vectors = normalized(vectors)
        if not done:
            width = vectors.shape[1]
            _write_header(out, 0, width)
        out.write(np.ascontiguousarray(vectors).data)
        refused += [
            RefusedSentence(done + one.index, one.reason, one.detail)
            for one in getattr(encoder, "refused", ())
        ]
        done += len(piece)
        if on_progress is not None:
            on_progress(done)
    if not done:
        raise ValueError(f"{name}: no sentences; give one a line")
    out.seek(0)
    _write_header(out, done, width)
    return Encoded(done, width, tuple(refused))


def _encoded(
    encoder: StringEncoder, piece: Sequence[str], asked: Asked, first: int, *, show_progress: bool
) -> FloatArray:
    """Returns the vectors of a piece.

    Raises:
        ValueError: the encoder refuses sentences; says from which line on they are counted.
    """
    try:
        return encoder.encode(
            piece,
            pooling=asked.pooling,
            batch_size=asked.batch_size,
            show_progress=show_progress,
        )
    except ValueError as error:
        if not first:
            raise
        raise ValueError(f"counted from line {first + 1:,} on: {error}") from error


def _pieces(lines: IO[bytes], name: str, size: int) -> Iterator[list[str]]:
    """Yields the lines in pieces of a size.

    Raises:
        ValueError: one is not UTF-8; names it.
    """
    decoded = decoded_lines(lines, name)
    while piece := list(islice(decoded, size)):
        yield piece


def _write_header(out: IO[bytes], num_rows: int, width: int) -> None:
    """Writes what says of the file that it is a float32 matrix; as long for any number of rows."""
    described = {"descr": "<f4", "fortran_order": False, "shape": (num_rows, width)}
    np.lib.format.write_array_header_1_0(out, described)
