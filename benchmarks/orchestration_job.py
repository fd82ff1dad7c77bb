"""The shard job of the orchestration benchmark: a real one, whose parser only says "a chain".

``python -m benchmarks.orchestration_job JOB.json`` does all that ``pipeline.parsing.parse_shard``
does (reads, checks, writes, renames, sums up) but load a parser, and notes in a folder how
much CPU time its process took, starting and imports included.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.base.job import Progress, in_part, run_from_command_line
from pipeline.parsers.adapters.base import Sentence
from pipeline.parsing.parse_shard import ParseJob, parse_shard
from pipeline.trees.parses import DependencyParse


class ChainParser:
    """A ``SentenceParser`` in whose trees every token hangs on the one before it."""

    name = "chain"
    checksum = "chain"

    def parse(self, sentences: Sequence[Sentence]) -> list[DependencyParse]:
        """Returns a chain for each sentence."""
        return [
            DependencyParse(heads=list(range(len(sentence))), deprels=["dep"] * len(sentence))
            for sentence in sentences
        ]


def execute(job: Mapping[str, Any], on_progress: Progress) -> None:
    """Parses the shards that a job of `tasks.parsing` names."""
    first, count = int(job["number"]), int(job.get("count", 1))
    for done in range(count):
        parse_job = ParseJob(
            stage=job["stage"],
            sentences=Path(job["sentences"]),
            output=Path(job["output"]),
            number=first + done,
        )
        parse_shard(parse_job, ChainParser(), in_part(on_progress, done, count))
    cost = Path(job["costs"]) / f"{first:05d}"
    cost.write_text(f"{time.process_time()}\n", encoding="ascii")


if __name__ == "__main__":
    sys.exit(run_from_command_line(execute))
