"""What a training tells while it runs: JSON lines, and the time left.

A resumed training continues the lines without gap or repetition.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from treeviews.pipeline.base.json_files import FILES, read_object

logger = logging.getLogger(__name__)

METRICS_FILE = "metrics.jsonl"
SUMMARY_FILE = "summary.json"
"""Written last, so it marks a training complete."""
SMOOTHING = 0.05
"""Weight of the last step in the speed from which the time left is told."""


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


class MetricsLog:
    """Appends records to a file that a checkpoint can cut back to."""

    def __init__(self, path: Path, *, keep_bytes: int = 0) -> None:
        """Opens the file and drops what lies behind the first ``keep_bytes``.

        Args:
            keep_bytes: what `position` gave when the checkpoint was made; 0 starts anew.

        Raises:
            ValueError: the file is shorter than that.
        """
        self._stream = path.open("ab")
        if self._stream.tell() < keep_bytes:
            raise ValueError(
                f"{path}: shorter than at the checkpoint; restore it or delete the model folder"
            )
        self._stream.truncate(keep_bytes)
        self._stream.seek(keep_bytes)

    def write(self, record: Mapping[str, Any]) -> None:
        """Appends one record; it is readable at once by others."""
        self._stream.write(json.dumps(record).encode() + b"\n")
        self._stream.flush()

    def position(self) -> int:
        """Returns the length in bytes after making it durable."""
        self._stream.flush()
        os.fsync(self._stream.fileno())
        return self._stream.tell()

    def close(self) -> None:
        """Closes the file."""
        self._stream.close()


def metrics_of(path: Path) -> Iterator[dict[str, Any]]:
    """Yields all whole records; a line that is still being written is left out."""
    with path.open("rb") as lines:
        for line in lines:
            if line.endswith(b"\n"):
                yield json.loads(line)


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Returns what `metrics_of` yields."""
    return list(metrics_of(path))


class TimeLeft:
    """Tells how long the rest will take at the present speed."""

    def __init__(self, share_done: float) -> None:
        """Args: share_done: of the whole, before this run."""
        self._share = share_done
        self._time = time.perf_counter()
        self._pace: float | None = None
        self._is_warm = False

    def after(self, share_done: float) -> str:
        """Returns the time left in words, as in ``about 3 min left``."""
        now = time.perf_counter()
        pace = (now - self._time) / max(share_done - self._share, 1e-12)
        # Steps differ in length, and a measurement in between is none: only the mean is of use.
        # The first step, which warms everything up, stands for the others until there is one.
        if self._pace is None or not self._is_warm:
            self._is_warm = self._pace is not None
            self._pace = pace
        else:
            self._pace += SMOOTHING * (pace - self._pace)
        self._share, self._time = share_done, now
        return f"about {duration(self._pace * (1 - share_done))} left"


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
