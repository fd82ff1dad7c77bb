"""Functions of a user's own, as encoders of a corpus."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np

KILLED_ONCE = "killed-once"
"""File of the working folder; while it is not there, `killed_at_odd` dies."""


def letters(sentences: list[str]) -> np.ndarray:
    """Returns how many characters and spaces each text has."""
    return np.array([[len(text), text.count(" ")] for text in sentences], dtype=np.float32)


def strict(sentences: list[str]) -> np.ndarray:
    """Does as `letters`, but takes neither no sentences nor one without words."""
    if not sentences or not all(text.strip() for text in sentences):
        raise AssertionError("asked for nothing")
    return letters(sentences)


def large(sentences: list[str]) -> np.ndarray:
    """Returns numbers that float16 has not."""
    return np.full((len(sentences), 2), 1e6, dtype=np.float32)


def killed_at_odd(sentences: list[str]) -> np.ndarray:
    """Does as `letters`, but the process dies the first time it meets the word ``odd``."""
    if "odd" in sentences and not Path(KILLED_ONCE).exists():
        Path(KILLED_ONCE).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return letters(sentences)
