"""Short digests of everything that determines an artefact's content."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

DIGEST_CHARACTERS = 12


def digest_of(values: Mapping[str, Any]) -> str:
    """Returns the first 12 hexadecimal digits of the sha256 of ``values`` as canonical JSON.

    Args:
        values: JSON-serialisable; key order does not matter.
    """
    canonical = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()[:DIGEST_CHARACTERS]


def sentences_digest(sentences: Sequence[str]) -> str:
    """Returns the first 16 hexadecimal digits of the sha256 of a list of sentences."""
    text = json.dumps(list(sentences), ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def sha256_of_file(path: Path) -> str:
    """Returns the hexadecimal sha256 of a file's bytes, read in blocks."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def remembered_sha256(path: Path) -> str:
    """Returns a file's sha256, found once a process for as long as its size and time stay."""
    stat = path.stat()
    return _sha256_as_of(path, stat.st_size, stat.st_mtime_ns)


@functools.lru_cache(maxsize=100_000)
def _sha256_as_of(path: Path, size: int, modified_ns: int) -> str:
    del size, modified_ns  # part of the cache's key only
    return sha256_of_file(path)
