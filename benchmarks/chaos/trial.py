"""What a part of the campaign is given, and what it tells of each trial."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asks for; the same for every part."""

    work: Path
    """An empty folder that the part may fill."""
    quick: bool
    """Some trials of each kind, in about a minute, rather than all."""
    seed: int
    """Of moments, places and bits."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One attempt at breaking something."""

    what: str
    """What was done, so that a reader can do it again: ``bit 3 of byte 812 of 00000.parquet``."""
    survived: bool
    """Whether the system did what it promises: same bytes, a refusal by name, a resumed run."""
    outcome: str
    """What was seen: the message, the exit status, or what differed."""
