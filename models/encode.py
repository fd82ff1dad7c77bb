"""Embeds sentences: ``python -m models.encode MODEL < sentences.txt > embeddings.npy``.

One sentence a line of UTF-8 text goes in, one row of a float32 ``.npy`` comes out, in the same
order: all views and poolings side by side. Messages go to standard error.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, get_args

import numpy as np

from models.command_line import add_encoder_options, encoder_settings, told
from models.config.views import Pooling
from models.encoding.encoder_interface import Encoder, FloatArray, ViewEncoder
from models.encoding.encoder_names import FORMS
from models.encoding.named_encoder import resolve_encoder
from models.encoding.reading_encoder import EncoderSettings, ReadingEncoder
from pipeline.base.atomic_files import TEMPORARY_SUFFIX

SECONDS_BETWEEN_REPORTS = 5.0


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code.

    That is 0, 2 with one line that says what is wrong, or 1 where nobody reads to the end.
    """
    values = _parser().parse_args(argv)
    try:
        if values.output is None and sys.stdout.isatty():
            raise ValueError("embeddings are binary: redirect standard output, or give --output")
        sentences = _read_sentences(values.input)
        pooling = tuple(name.strip() for name in values.pooling.split(","))
        settings = {"device": values.device, **encoder_settings(values)}
        encoder = resolve_encoder(values.encoder, EncoderSettings.from_dict(settings))
        embeddings = _encode(encoder, values.encoder, sentences, pooling)
        _write(embeddings, values.output)
    except BrokenPipeError:
        # Whoever reads has enough; nothing is left for Python to write to it at its end.
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (OSError, ValueError) as error:
        return told(error, with_traceback=values.traceback)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m models.encode", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("encoder", metavar="MODEL", help=f"{FORMS}.")
    parser.add_argument("--input", type=Path, help="Text file; by default standard input.")
    parser.add_argument("--output", type=Path, help="File; by default standard output.")
    parser.add_argument(
        "--pooling",
        default="last",
        help=f"One or several of {', '.join(get_args(Pooling))}, separated by commas.",
    )
    add_encoder_options(
        parser, on_refusal="A sentence that cannot be taken ends the command, or is a row of zeros."
    )
    parser.set_defaults(on_refusal="error")
    return parser


def _read_sentences(source: Path | None) -> list[str]:
    """Returns the lines; a last one without a line break counts, an empty rest does not.

    Raises:
        ValueError: no lines, or one that is not UTF-8.
    """
    content = sys.stdin.buffer.read() if source is None else source.read_bytes()
    lines = content.split(b"\n")  # other breaks, such as form feeds, are white space in a sentence
    if lines[-1] == b"":
        lines.pop()
    name = "standard input" if source is None else str(source)
    if not lines:
        raise ValueError(f"{name}: no sentences; give one a line")
    sentences = []
    for number, line in enumerate(lines, 1):
        try:
            sentences.append(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise ValueError(f"{name}:{number}: not UTF-8 ({error.reason}); convert it") from error
    return sentences


def _encode(
    encoder: Encoder, name: str, sentences: list[str], pooling: tuple[Pooling, ...]
) -> FloatArray:
    started = time.perf_counter()
    if not isinstance(encoder, ViewEncoder):
        if pooling != ("last",):
            raise ValueError(f"{name} gives no states to pool; leave out --pooling")
        embeddings = encoder.encode(sentences)
    else:
        views = _encode_views(encoder, sentences, pooling)
        embeddings = np.concatenate(list(views.values()), axis=1)
    seconds = time.perf_counter() - started
    rate = len(sentences) / max(seconds, 1e-9)
    refused = getattr(encoder, "refused", [])
    for refusal in refused:
        print(f"zeros for {refusal}", file=sys.stderr)
    print(
        f"{len(sentences)} sentences, {len(refused)} refused, width {embeddings.shape[1]}, "
        f"{seconds:.1f} s, {rate:.0f} sentences/s",
        file=sys.stderr,
    )
    return embeddings


def _encode_views(
    encoder: ViewEncoder, sentences: list[str], pooling: tuple[Pooling, ...]
) -> dict[str, FloatArray]:
    if not isinstance(encoder, ReadingEncoder):
        return encoder.encode_views(sentences, pooling)
    last_report = time.monotonic()

    def report(share: float) -> None:
        nonlocal last_report
        if time.monotonic() - last_report >= SECONDS_BETWEEN_REPORTS:
            last_report = time.monotonic()
            print(f"{share:.0%} of {len(sentences)} sentences", file=sys.stderr)

    return encoder.encode_views(sentences, pooling, on_progress=report)


def _write(embeddings: FloatArray, target: Path | None) -> None:
    """Writes the matrix; a file appears whole or not at all."""
    if target is None:
        _save(sys.stdout.buffer, embeddings)
        return
    temporary = target.with_name(f"{target.name}.{os.getpid()}{TEMPORARY_SUFFIX}")
    try:
        with temporary.open("wb") as stream:
            _save(stream, embeddings)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _save(stream: IO[bytes], embeddings: FloatArray) -> None:
    # numpy.save asks for a position in its file, which a pipe has not.
    rows = np.ascontiguousarray(embeddings)
    np.lib.format.write_array_header_1_0(stream, np.lib.format.header_data_from_array_1_0(rows))
    stream.write(rows.data)
    stream.flush()


if __name__ == "__main__":
    sys.exit(main())
