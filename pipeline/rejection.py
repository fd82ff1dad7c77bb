"""Why one sentence was refused, by whatever stage refused it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a parser could not take one sentence; its row is kept, with nulls."""

    reason: str
    """A stable snake_case key that manifests count by, such as ``too_long``."""
    detail: str = ""
    """The error's own words, for the quarantine file."""
