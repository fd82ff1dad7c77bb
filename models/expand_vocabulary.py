"""Expands a trained model's vocabulary: ``python -m treeviews.models.expand_vocabulary JOB.json``.

JOB.json holds an `ExpansionJob`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import ClassVar

from treeviews.models.words.vocabulary_expansion import ExpansionConfig
from treeviews.pipeline.base.job import Progress, run_from_command_line
from treeviews.pipeline.base.settings import Settings


class ExpansionJob(Settings):
    """Which model is expanded by what, and where the result goes."""

    called: ClassVar[str] = "expansion job field"

    model: Path
    """Its folder."""
    out: Path
    """The new model's folder."""
    config: ExpansionConfig = ExpansionConfig()
    pretrained: Path | None = None
    """See `models.model.expanded_model.expand_model`."""


def execute(job: ExpansionJob, progress: Progress) -> None:
    """Expands as a job says.

    Raises:
        FileNotFoundError, ValueError: see `models.model.expanded_model.expand_model`.
    """
    from treeviews.models.model.expanded_model import expand_model

    expand_model(job.model, job.out, job.config, pretrained=job.pretrained, on_progress=progress)
    progress(1.0, "done")


if __name__ == "__main__":
    sys.exit(run_from_command_line(execute, kind=ExpansionJob))
