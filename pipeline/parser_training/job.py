"""What a task has a training process do; known without torch."""

from __future__ import annotations

from typing import ClassVar, Literal

from pipeline.base.settings import Settings

TrainedKind = Literal["dependency", "dependency-transformer", "constituency"]
"""What the command line of the trainings calls a parser that it trains."""


class ParserTrainingJob(Settings):
    """Which kind of parser to train, and how."""

    called: ClassVar[str] = "parser training job field"

    kind: TrainedKind
    arguments: tuple[str, ...]
    """Those that follow the kind on the command line."""
