"""Compares what a shard's manifest says was refused with the records of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pipeline.shards import ShardManifest, quarantine_path, remedy, shard_path


def quarantine_problems(folder: Path, manifest: ShardManifest) -> Iterator[str]:
    """Yields what is wrong with the quarantine file of a shard."""
    if not manifest.has_quarantine:
        if manifest.drops and manifest.stage != "sentences":
            yield f"the manifest says {manifest.drops} were refused, but keeps no record of them"
        return
    path = quarantine_path(folder, manifest.number)
    try:
        recorded = _count_reasons(path)
    except FileNotFoundError:
        yield f"is missing; {remedy(shard_path(folder, manifest.number))}"
        return
    except ValueError as error:
        yield f"cannot be read ({error}); {remedy(shard_path(folder, manifest.number))}"
        return
    for reason in sorted(recorded.keys() | manifest.drops.keys()):
        if recorded[reason] != manifest.drops.get(reason, 0):
            yield (
                f"{recorded[reason]} records of {reason!r}, the manifest says "
                f"{manifest.drops.get(reason, 0)}"
            )


def _count_reasons(path: Path) -> Counter[str]:
    counts: Counter[str] = Counter()
    with path.open(encoding="utf-8") as stream:
        for number, line in enumerate(stream, start=1):
            try:
                counts[str(json.loads(line)["reason"])] += 1
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"line {number}: {type(error).__name__}: {error}") from error
    return counts
