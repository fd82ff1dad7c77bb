"""What a training tells: its metrics, its summary, and times in words. Loads no torch."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from treeviews.pipeline.base.json_files import FILES, read_object

logger = logging.getLogger(__name__)

METRICS_FILE = "metrics.jsonl"
SUMMARY_FILE = "summary.json"
"""Written last, so it marks a training complete."""


def read_metrics(path: Path) -> Iterator[dict[str, Any]]:
    """Yields all whole records; a line that is still being written is left out."""
    with path.open("rb") as lines:
        for line in lines:
            if line.endswith(b"\n"):
                yield json.loads(line)


def finished_summary(out: Path, identity: str | None = None) -> dict[str, Any] | None:
    """Returns the summary of a training's folder; None where it, or a file it lists, is not there.

    Args:
        identity: digest of all that determines the result; None takes that of any training.

    Raises:
        ValueError: the summary is damaged, of a wrong shape or of another training; names it and
            the remedy.
    """
    path, remedy = out / SUMMARY_FILE, "delete the folder to train again"
    try:
        summary = read_object(path, ("identity",), remedy=remedy)
    except FileNotFoundError:
        return None
    if identity not in (None, summary["identity"]):
        raise ValueError(
            f"{out}: holds another finished training (other settings, corpus or word vectors); "
            "give another folder"
        )
    if lost := [name for name in summary.get(FILES, ()) if not (out / name).is_file()]:
        logger.warning("%s: %s is gone; the training is run again", out, ", ".join(lost))
        return None
    return summary


def duration(seconds: float, *, digits: int = 0) -> str:
    """Returns a time rounded to what people care for: ``42 s``, ``3 min``, ``2 h 05 min``.

    Args:
        seconds: the time.
        digits: decimals of what is shorter than a minute.
    """
    if seconds < 59.5:
        return f"{seconds:.{digits}f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
