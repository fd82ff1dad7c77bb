"""What the command lines for encoders share: their options, and how they end on a mistake."""

from __future__ import annotations

import argparse
import sys
import traceback
from typing import Any

from models.encoding.own_encoder import OwnEncoderError
from pipeline.base import foreign_text

MISTAKE = 2
"""Exit code of a user's mistake, which argparse gives for one in the options, too."""


_SETTINGS = ("batch_size", "on_refusal", "vectors", "dependency_parser", "constituency_parser")


def add_encoder_options(parser: argparse.ArgumentParser, *, on_refusal: str) -> None:
    """Adds how an encoder is run, where its parts lie, and ``--traceback``.

    Args:
        on_refusal: what the command does with sentences that the encoder cannot take.
    """
    add = parser.add_argument
    add("--device", default="cpu", help="Where to compute: cpu, cuda, cuda:1, ...")
    add("--batch-size", type=int, help="Sentences embedded at once.")
    add("--on-refusal", choices=["error", "zero"], help=on_refusal)
    for name in ("vectors", "dependency-parser", "constituency-parser"):
        add(f"--{name}", help="Where it lies, if not where the model says or ships.")
    add("--traceback", action="store_true", help="Show where an error was raised.")


def encoder_settings(values: argparse.Namespace) -> dict[str, Any]:
    """Returns those fields of `EncoderSettings` but the device that the options give."""
    return {name: getattr(values, name) for name in _SETTINGS if getattr(values, name) is not None}


def told(error: Exception, *, with_traceback: bool = False) -> int:
    """Says on standard error in one line what is wrong; returns the exit code `MISTAKE`.

    Args:
        with_traceback: whether to say before where it was raised, which in code of the user's own
            is what matters.
    """
    if with_traceback:
        traceback.print_exception(error)
    hint = isinstance(error, OwnEncoderError) and not with_traceback
    text = " ".join(str(error).splitlines()) + ("; --traceback shows where" if hint else "")
    print(foreign_text.told(f"{type(error).__name__}: {text}"), file=sys.stderr)
    return MISTAKE
