"""A file of sentences, one a line, to a ``.npy`` file with a row each, piece by piece.

However long the text is, a piece of it and its vectors are in memory. Rows are written as they
come; the file's header, which says how many there are, keeps its length and is written again at the
end. Pieces are cut where encoders cut, so the rows are those of encoding all lines at once.

Legend: n sentences, d width of an embedding.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import IO, Unpack

import numpy as np

from treeviews.models.encoding.encoder import EncodeOptions, Encoder
from treeviews.pipeline.base.atomic_files import write_by_library
from treeviews.pipeline.base.foreign_text import decoded_lines
from treeviews.pipeline.base.refusal import RefusedSentence

LINES_AT_ONCE = 32_768
"""A whole number of what encoders read at once."""


def encode_lines(
    encoder: Encoder,
    lines: IO[bytes],
    name: str,
    target: Path | IO[bytes],
    on_progress: Callable[[int], None] = lambda done: None,
    **options: Unpack[EncodeOptions],
) -> tuple[tuple[int, int], list[RefusedSentence]]:
    """Writes the vectors of a text's lines to a file, which appears whole or not at all.

    Args:
        encoder: any, as `models.load` gives it.
        lines: UTF-8; a last line without a break counts, an empty rest does not.
        name: of the text, for messages.
        target: the ``.npy`` file; or a stream, such as a pipe, which has no positions: all is
            written to it when it is known.
        on_progress: takes the number of sentences done, piece by piece.
        options: of `Encoder.encode`.

    Returns:
        n and d; and the sentences that became zeros, numbered over all lines from 0.

    Raises:
        OSError: the file cannot be written there.
        ValueError: no lines, one that is not UTF-8, or what the encoder refuses; names the line.
    """
    if not isinstance(target, Path):
        with tempfile.TemporaryDirectory() as folder:
            waiting = Path(folder) / "vectors.npy"
            encoded = encode_lines(encoder, lines, name, waiting, on_progress, **options)
            with waiting.open("rb") as stream:
                shutil.copyfileobj(stream, target, 1 << 20)
        target.flush()
        return encoded
    done, width = 0, 0
    refused: list[RefusedSentence] = []

    def write(path: Path) -> None:
        nonlocal done, width
        with path.open("w+b") as out:
            decoded = decoded_lines(lines, name)
            while piece := list(islice(decoded, LINES_AT_ONCE)):
                try:
                    vectors = encoder.encode(piece, **options)
                except ValueError as error:
                    if not done:
                        raise
                    raise ValueError(f"counted from line {done + 1:,} on: {error}") from error
                if not done:
                    width = vectors.shape[1]
                    _write_header(out, 0, width)
                out.write(np.ascontiguousarray(vectors).data)
                refused.extend(
                    RefusedSentence(done + refusal.index, refusal.reason, refusal.detail)
                    for refusal in encoder.refused
                )
                done += len(piece)
                on_progress(done)
            if not done:
                raise ValueError(f"{name}: no sentences; give one a line")
            out.seek(0)
            _write_header(out, done, width)

    write_by_library(target, write)
    return (done, width), refused


def _write_header(out: IO[bytes], num_rows: int, width: int) -> None:
    """Writes what says of the file that it is a float32 matrix; as long for any number of rows."""
    described = {"descr": "<f4", "fortran_order": False, "shape": (num_rows, width)}
    np.lib.format.write_array_header_1_0(out, described)
