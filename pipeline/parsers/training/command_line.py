"""What the command lines of both trainings share."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Callable, Sequence
from typing import Any


def run_training(
    train: Callable[[Sequence[str] | None], dict[str, Any]], arguments: Sequence[str] | None
) -> int:
    """Trains, prints the summary as JSON and returns the exit status; 2 for a user's mistake."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stderr)
    try:
        summary = train(arguments)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(json.dumps(summary, indent=1))
    return 0


def add_number(parser: argparse.ArgumentParser, name: str, default: object) -> None:
    """Adds an option for a number, named as its field is, that shows its default."""
    flag = "--" + name.replace("_", "-")
    parser.add_argument(flag, type=type(default), default=default, help=f"default {default}")
