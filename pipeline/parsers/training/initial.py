"""What a training that goes on from a parser needs of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

_NUM_SHOWN = 5


def check_known(parser: Path, kind: str, needed: Iterable[str], known: Collection[str]) -> None:
    """Checks that a parser can give every name that the training set asks for.

    Args:
        parser: folder of the parser to go on from.
        kind: what the names are, such as ``relations``.
        needed: those of the training set.
        known: those of the parser, whose scores are as many.

    Raises:
        ValueError: it cannot; names the parser, what it lacks and the remedy.
    """
    unknown = sorted(set(needed) - set(known))
    if unknown:
        shown = ", ".join(unknown[:_NUM_SHOWN]) + (", …" if len(unknown) > _NUM_SHOWN else "")
        raise ValueError(
            f"{parser}: knows {len(known)} {kind}, not these {len(unknown)} of the training files: "
            f"{shown}; rename them in the files, leave their sentences out, or train from the start"
        )
