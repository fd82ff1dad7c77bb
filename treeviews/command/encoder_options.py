"""What the subcommands that run an encoder share: how it is run, and where its parts lie."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

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
BatchSize = Annotated[int | None, typer.Option(min=1, help="Sentences embedded at once.")]
Refusal = Literal["error", "zero"]
_WHERE = "Where it lies, if not where the model says or ships."
Vectors = Annotated[Path | None, typer.Option(help=_WHERE)]
_WHICH = "The model's parser, if it does not ship: a folder, or the name of one that ships."
DependencyParser = Annotated[Path | None, typer.Option(help=_WHICH)]
ConstituencyParser = Annotated[Path | None, typer.Option(help=_WHICH)]


def given(**options: Any) -> dict[str, Any]:
    """Returns the options that were given, as `EncoderSettings` takes them; paths as text."""
    return {
        name: str(value) if isinstance(value, Path) else value
        for name, value in options.items()
        if value is not None
    }
