"""A sentence that an encoder could not take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why one sentence could not be taken."""

    index: int
    """Position among the sentences, from 0."""
    reason: str
    """As in quarantine files: ``empty``, ``too_long``, ``parser_error``, ``invalid_tree``."""
    detail: str

    def __str__(self) -> str:
        return f"sentence {self.index} (from 0): {self.reason}" + (
            f" ({self.detail})" if self.detail else ""
        )
