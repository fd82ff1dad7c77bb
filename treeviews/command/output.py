"""How results are printed: as text for people, or as JSON."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def print_json(value: Any) -> None:
    """Prints a value as JSON; paths and dates as text."""
    print(json.dumps(value, indent=2, default=str))


def say(text: object) -> None:
    """Writes a message, which is no result, to standard error."""
    print(text, file=sys.stderr, flush=True)
