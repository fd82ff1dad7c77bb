"""The views of a sentence, and the parses each of them reads."""

from __future__ import annotations

from collections.abc import Sequence

STAGE_OF_VIEW: dict[str, str | None] = {
    "SEQ": None,
    "DEP": "dependencies",
    "CONST": "constituents",
    "BOW": None,
}
"""View -> the parse stage it needs beside the sentences."""

VIEWS = tuple(STAGE_OF_VIEW)


def needed_stages(views: Sequence[str]) -> list[str]:
    """Returns the parse stages that views read, each once and in a fixed order."""
    needed = {STAGE_OF_VIEW[view] for view in views}
    return [stage for stage in STAGE_OF_VIEW.values() if stage is not None and stage in needed]
