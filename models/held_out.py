"""Which documents are kept out of training: a pure function of their name."""

from __future__ import annotations

import hashlib

_RANGE = 1 << 64


def is_held_out(document_id: str, fraction: float, seed: int) -> bool:
    """Returns whether a document is held out.

    The answer depends on the arguments alone, so training, held-out accuracy and probing agree
    without a file between them, and a grown corpus moves no document to the other side.

    Args:
        fraction: expected share of documents held out, 0 to 1.

    Raises:
        ValueError: ``fraction`` is not between 0 and 1.
    """
    if not 0.0 <= fraction <= 1.0:
        raise ValueError(f"the held-out fraction must lie between 0 and 1, not {fraction}")
    digest = hashlib.sha256(f"{seed}:{document_id}".encode()).digest()
    return int.from_bytes(digest[:8], "big") < fraction * _RANGE
