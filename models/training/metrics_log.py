"""The JSON lines of a training, which a resumed training continues without gap or repetition."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

METRICS_FILE = "metrics.jsonl"
SUMMARY_FILE = "summary.json"
"""Written last, so it marks a training complete."""


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
