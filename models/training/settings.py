"""Settings of the machine that a training runs on; in no digest, as they name no other result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pipeline.base.config_fields import Config, Count, Natural, at_least

GemmChoice = Literal["auto", "default", "onednn"]
"""Which matrix product the CPU uses; auto: oneDNN's on AMD's processors where it is as
exact, PyTorch's default elsewhere."""


@dataclass(frozen=True, slots=True)
class RunSettings(Config):
    """How a training is run. On one device and with one matrix product none changes the result."""

    called: ClassVar[str] = "run setting"

    device: str = "cpu"
    gemm: GemmChoice = "auto"
    """With "auto" a resumed training goes on with the product it began with; another one that is
    asked for is taken, and noted in the metrics, since the last bits of the weights differ."""
    prefetch: Natural = 2
    """Batches prepared ahead by a thread; 0 prepares each when it is needed."""
    checkpoint_every_seconds: Annotated[float, at_least(0)] = 60.0
    checkpoint_every_steps: Annotated[int | None, at_least(1)] = None
    """Checkpoints also at every multiple of so many steps."""
    keep_checkpoints: Count = 2
    keep_best: bool = True
    """Whether the weights of the lowest held-out loss are kept beside the last ones."""
    tensorboard: bool | None = None
    """Whether TensorBoard's event files are written; None writes them if it is installed."""
    progress_bar: bool | None = None
    """Whether a bar is drawn on standard error; None draws one on a terminal."""


@dataclass(frozen=True, slots=True)
class LaunchSettings(Config):
    """How many processes train, and with how many threads."""

    called: ClassVar[str] = "launch setting"

    threads: Annotated[int | None, at_least(1)] = None
    """CPU threads of all processes of a machine together; by default one a core."""
    processes: Count = 1
    """How many train together; on cuda each takes a device of its own."""
    max_restarts: Natural = 0
    """How often all start again from the last checkpoint when one of several is killed."""
