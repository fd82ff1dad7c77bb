"""``treeviews encode``: sentences in, a matrix out."""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from treeviews.command.encoder_options import (
    BatchSize,
    ConstituencyParser,
    DependencyParser,
    Device,
    EncoderArgument,
    Refusal,
    Vectors,
    given,
)
from treeviews.command.output import check_output, count_teller, say, standard_output_named


def add_to(app: typer.Typer) -> None:
    """Adds the subcommand."""
    app.command("encode")(encode)


def encode(
    encoder: EncoderArgument,
    source: Annotated[
        Path | None, typer.Option("--input", help="Text file; by default standard input.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--out", "--output", help="File; by default standard output.")
    ] = None,
    pooling: Annotated[
        str, typer.Option(help="One or several of last, max, mean, min, separated by commas.")
    ] = "last",
    device: Device = "cpu",
    batch_size: BatchSize = None,
    on_refusal: Annotated[
        Refusal, typer.Option(help="A sentence that cannot be taken: an error, or a row of zeros.")
    ] = "error",
    vectors: Vectors = None,
    dependency_parser: DependencyParser = None,
    constituency_parser: ConstituencyParser = None,
    normalize: Annotated[bool, typer.Option("--normalize", help="Give each row length 1.")] = False,
) -> None:
    """Embed sentences: encode english < sentences.txt > embeddings.npy.

    One sentence a line of UTF-8 text goes in; a float32 .npy comes out, a row a sentence, in the
    same order.
    """
    if output is None and sys.stdout.isatty():
        raise typer.BadParameter("embeddings are binary: redirect standard output, or give --out")
    if output is not None:
        check_output(output)

    from treeviews.models.encode_lines import encode_lines
    from treeviews.models.encoding.encoder import EncoderSettings, check_pooling
    from treeviews.models.encoding.load_encoder import load_encoder

    settings = given(
        device=device,
        batch_size=batch_size,
        on_refusal=on_refusal,
        vectors=vectors,
        dependency_parser=dependency_parser,
        constituency_parser=constituency_parser,
    )
    pools: Any = tuple(name.strip() for name in pooling.split(","))
    check_pooling(pools)
    with nullcontext(sys.stdin.buffer) if source is None else source.open("rb") as lines:
        found = load_encoder(encoder, EncoderSettings.from_dict(settings))
        started = time.perf_counter()
        name = "standard input" if source is None else str(source)
        bar = sys.stderr.isatty()
        tell = (lambda done: None) if bar else count_teller()
        with standard_output_named() if output is None else nullcontext():
            encoded = encode_lines(
                *(found, lines, name, output or sys.stdout.buffer),
                on_progress=tell,
                pooling=pools,
                batch_size=batch_size,
                normalize=normalize,
                show_progress=bar,
            )
    seconds = time.perf_counter() - started
    for refusal in encoded.refused:
        say(f"zeros for {refusal}")
    say(
        f"{encoded.sentences} sentences, {len(encoded.refused)} refused, width {encoded.width}, "
        f"{seconds:.1f} s, {encoded.sentences / max(seconds, 1e-9):.0f} sentences/s"
    )
