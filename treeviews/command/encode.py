"""``treeviews encode``: sentences in, a matrix out."""

from __future__ import annotations

import sys
import time
from typing import Annotated, Any, Literal

import typer

from treeviews.command.console import (
    ENCODERS,
    OutputFile,
    TextFile,
    check_output,
    checked,
    count_teller,
    open_text,
    say,
    say_speed,
    takes,
)
from treeviews.models.encoding.encoder import EncoderSettings, check_pooling


def poolings(text: str) -> Any:
    """Returns the names that are separated by commas."""
    return tuple(name.strip() for name in text.split(","))


@takes("settings", EncoderSettings)
def encode(
    encoder: Annotated[str, typer.Argument(metavar="ENCODER", help=ENCODERS)],
    source: TextFile = None,
    output: OutputFile = None,
    pooling: Annotated[
        str,
        typer.Option(
            callback=checked(lambda text: check_pooling(poolings(text))),
            help="How to pool states: last, max, mean, min, or several with commas.",
        ),
    ] = "last",
    on_refusal: Annotated[
        Literal["error", "zero"],
        typer.Option(help="For a sentence that cannot be encoded: stop, or write a row of zeros."),
    ] = "error",
    normalize: Annotated[bool, typer.Option("--normalize", help="Scale rows to length 1.")] = False,
    *,
    settings: EncoderSettings,
) -> None:
    """Encode sentences as vectors.

    Example: treeviews encode english < sentences.txt > embeddings.npy. Reads UTF-8 text with one
    sentence per line; writes a float32 .npy with one row per sentence, in the same order.
    """
    if output is None and sys.stdout.isatty():
        raise typer.BadParameter("embeddings are binary: redirect standard output, or give --out")
    if output is not None:
        check_output(output)

    from treeviews.models.encode_lines import encode_lines
    from treeviews.models.encoding.load_encoder import load_encoder

    with open_text(source) as (lines, name):
        found = load_encoder(encoder, settings.changed(on_refusal=on_refusal))
        started = time.perf_counter()
        bar = sys.stderr.isatty()
        tell = (lambda done: None) if bar else count_teller()
        (num_sentences, width), refused = encode_lines(
            *(found, lines, name, output or sys.stdout.buffer),
            on_progress=tell,
            pooling=poolings(pooling),
            batch_size=settings.batch_size,
            normalize=normalize,
            show_progress=bar,
        )
        sys.stdout.flush()
    for refusal in refused:
        say(f"zeros for {refusal}")
    seconds = time.perf_counter() - started
    say_speed(num_sentences, len(refused), seconds, f"width {width}, ")
