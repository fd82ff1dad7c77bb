"""How probes are fitted and scored; readable where torch is not loaded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pipeline.config_fields import POSITIVE, Config, Count, Positive

PROBE_VERSION = 3
"""Raised when the same embeddings, items and configuration would give other scores: another
objective, solver, standardisation, projection or bootstrap."""


@dataclass(frozen=True, slots=True)
class ProbeConfig(Config):
    """How classifiers are fitted and intervals drawn."""

    called: ClassVar[str] = "probe setting"

    regularisers: Annotated[tuple[float, ...], POSITIVE] = (
        1e-4,
        1e-3,
        1e-2,
        1e-1,
        1.0,
        10.0,
        100.0,
    )
    """λ, the penalty of ``classifiers.logistic_regression`` a training sentence; the best on dev
    is taken. Differs from SentEval, whose penalty stands beside a sum over sentences: with λ one
    grid serves tasks of any size."""
    tolerance: Positive = 1e-6
    """Share of its objective by which a fit may lie above the minimum."""
    max_steps: Count = 500
    bootstrap_seed: int = 0
    num_resamples: Count = 2_000
    projection_seed: int = 0

    def _check_together(self) -> None:
        """Refuses an empty grid.

        Raises:
            ValueError: names the field and what it must be.
        """
        if not self.regularisers:
            raise ValueError("regularisers must be positive numbers, got none")
