"""Tasks run by Luigi's local scheduler."""

from __future__ import annotations

import luigi


def build(task: luigi.Task) -> bool:
    """Runs a task and what it requires; returns whether all succeeded."""
    succeeded: bool = luigi.build([task], local_scheduler=True, workers=1, log_level="WARNING")
    return succeeded
