"""The stages of a run and what each needs, as plain values that tables and pages are made from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

State = Literal["done", "partial", "missing", "failed"]
"""Of a stage: complete, begun, not begun, or begun and ended by an error in the last run."""


@dataclass(frozen=True, slots=True)
class StageNode:
    """One stage of a run; the jobs of its shards are parts of it and no stages of their own."""

    id: str
    """Unlike that of any other stage of the run."""
    name: str
    """The task's, as a user asks for it: ``ParseDependencies``."""
    about: str
    """What tells it from others of that name: ``seed 1``; empty where there is no other."""
    folder: Path | None
    """That it fills; None where it only asks for others."""
    state: State
    needs: tuple[str, ...] = ()
    """Ids of the stages that it is made from."""
    num_parts: int | None = None
    """Shards, or other parts that are made one by one; None where it has none or none is known."""
    num_parts_done: int | None = None
    seconds: float | None = None
    """That making it took, as its own files say; None where they do not, or it is not made."""
    num_bytes: int | None = None
    """Of its files; None where there are none."""


@dataclass(frozen=True, slots=True)
class StageGraph:
    """The stages of one run, what is needed before what needs it."""

    root: str
    """Id of the stage that was asked for."""
    nodes: tuple[StageNode, ...]
