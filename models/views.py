"""The views of a sentence, and the parses each of them reads."""

from __future__ import annotations

STAGE_OF_VIEW: dict[str, str | None] = {
    "SEQ": None,
    "DEP": "dependencies",
    "CONST": "constituents",
    "BOW": None,
}
"""View -> the parse stage it needs beside the sentences."""

VIEWS = tuple(STAGE_OF_VIEW)
