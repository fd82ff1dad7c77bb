"""How probes are fitted and scored; readable where torch is not loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from models.config_fields import checked_fields

PROBE_VERSION = 3
"""Raised when the same embeddings, items and configuration would give other scores: another
objective, solver, standardisation, projection or bootstrap."""


@dataclass(frozen=True, slots=True)
class ProbeConfig:
    """How classifiers are fitted and intervals drawn."""

    regularisers: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
    """λ, the penalty of ``classifiers.logistic_regression`` a training sentence; the best on dev
    is taken. Differs from SentEval, whose penalty stands beside a sum over sentences: with λ one
    grid serves tasks of any size."""
    tolerance: float = 1e-6
    """Share of its objective by which a fit may lie above the minimum."""
    max_steps: int = 500
    bootstrap_seed: int = 0
    num_resamples: int = 2_000
    projection_seed: int = 0

    def __post_init__(self) -> None:
        """Refuses settings out of range.

        Raises:
            ValueError: names the field and what it must be.
        """
        if not self.regularisers or min(self.regularisers) <= 0:
            raise ValueError(f"regularisers must be positive numbers, got {self.regularisers}")
        if self.tolerance <= 0:
            raise ValueError(f"tolerance must be positive, got {self.tolerance}")
        for name in ("max_steps", "num_resamples"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> ProbeConfig:
        """Returns the configuration of plain values, defaults where a field is missing.

        Raises:
            ValueError: an unknown field, or a value of another type or out of range.
        """
        return cls(**checked_fields(cls, values, "probe"))

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as plain JSON values."""
        return {**asdict(self), "regularisers": list(self.regularisers)}
