"""``--quick``: every benchmark has it, declared as other values of its own options."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

ROUGH = (
    "quick: a small run of about a minute, whose figures are rough; measure without --quick before "
    "you compare them with others"
)
"""What stands under the tables of a quick run."""


def parse_arguments(
    parser: argparse.ArgumentParser, given: Sequence[str], quick: Mapping[str, Any]
) -> argparse.Namespace:
    """Returns a benchmark's options, read with ``--quick`` among them.

    Args:
        parser: knows all other options; gets this one.
        given: the command line.
        quick: what a quick run has in the place of the defaults, by the option's name. What the
            command line says itself goes before.
    """
    smaller = ", ".join(f"{name.replace('_', '-')} {_said(value)}" for name, value in quick.items())
    parser.add_argument(
        "--quick", action="store_true", help=f"about a minute, and rough: {smaller}"
    )
    options = parser.parse_args(given)
    assert vars(options).keys() >= quick.keys(), "only options have other values in a quick run"
    if options.quick:
        parser.set_defaults(**quick)
    return parser.parse_args(given)


def _said(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
