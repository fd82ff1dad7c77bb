"""Settings of the machine that a training runs on; in no digest, as they name no other result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from models.config_fields import check_choices, checked_fields

GemmChoice = Literal["auto", "default", "onednn"]
"""Which matrix product the CPU uses; auto: the fastest of those measured to be exact."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How a training is run. On one device and with one matrix product none changes the result."""

    device: str = "cpu"
    gemm: GemmChoice = "auto"
    """With "auto" a resumed training goes on with the product it began with; another one that is
    asked for is taken, and noted in the metrics, since the last bits of the weights differ."""
    prefetch: int = 2
    """Batches prepared ahead by a thread; 0 prepares each when it is needed."""
    checkpoint_every_seconds: float = 60.0
    checkpoint_every_steps: int | None = None
    """Checkpoints also at every multiple of so many steps."""
    keep_checkpoints: int = 2
    keep_best: bool = True
    """Whether the weights of the lowest held-out loss are kept beside the last ones."""
    tensorboard: bool | None = None
    """Whether TensorBoard's event files are written; None writes them if it is installed."""
    progress_bar: bool | None = None
    """Whether a bar is drawn on standard error; None draws one on a terminal."""

    def __post_init__(self) -> None:
        check_choices(self)
        if self.prefetch < 0:
            raise ValueError(f"prefetch must be 0 or more, not {self.prefetch}")
        if self.checkpoint_every_steps is not None and self.checkpoint_every_steps < 1:
            raise ValueError("checkpoint_every_steps must be at least 1")
        if self.keep_checkpoints < 1:
            raise ValueError("keep_checkpoints must be at least 1")
        if self.checkpoint_every_seconds < 0:
            raise ValueError("checkpoint_every_seconds must not be negative")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RunSettings:
        """Returns the settings with these fields; the others take their defaults.

        Raises:
            ValueError: an unknown field, or a value of another type or out of range.
        """
        return cls(**checked_fields(cls, values, "run"))
