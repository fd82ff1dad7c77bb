"""The views of a sentence, and the parses each of them reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

STAGE_OF_VIEW: dict[str, str | None] = {
    "SEQ": None,
    "DEP": "dependencies",
    "CONST": "constituents",
    "LIN": None,
    "BOW": None,
    "INV": None,
}
"""View -> the parse stage it needs beside the sentences."""

INVERSE = "INV"
"""The inverse of a trained decoder: a view of the finished model that no training asks for."""
VIEWS = tuple(view for view in STAGE_OF_VIEW if view != INVERSE)
"""Those that a training can ask for."""
UNORDERED_VIEWS = frozenset({"LIN", "BOW", INVERSE})
"""Those whose states are of words each by itself: they have no last one, their mean stands for
it."""


def needed_stages(views: Sequence[str]) -> list[str]:
    """Returns the parse stages that views read, each once and in a fixed order."""
    needed = {STAGE_OF_VIEW[view] for view in views}
    stages = dict.fromkeys(STAGE_OF_VIEW.values())
    return [stage for stage in stages if stage is not None and stage in needed]


def columns_read(views: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Returns the columns of each parse stage that views read, see ``pipeline.shards.schema``."""
    columns = {"dependencies": ("heads",), "constituents": ("binary_left", "binary_right")}
    return {stage: columns[stage] for stage in needed_stages(views)}


Pooling = Literal["last", "max", "mean", "min"]
"""How a sentence's states become one vector: the one an encoder gives, or one over all of them."""
