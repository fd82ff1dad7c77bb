"""What the subcommands that run an encoder share: how it is run, and where its parts lie."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

EncoderArgument = Annotated[
    str,
    typer.Argument(
        metavar="ENCODER",
        help="english or another that ships (treeviews list), a model's folder, "
        "bag_of_words, sif, random-SEED, views as MODEL@VIEW+MODEL@VIEW, or package.module:name of "
        "a function of your own, whose module's code is run.",
    ),
]
Device = Annotated[str, typer.Option(help="Where to compute: cpu, cuda, cuda:1, ...")]
Refusal = Literal["error", "zero"]
