"""A shard job whose parser hangs every token on the one before it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.waiting import wait_until
from treeviews.pipeline.base.job import Progress, run_from_command_line
from treeviews.pipeline.base.refusal import Refusal
from treeviews.pipeline.parsers.parser_files import checksum_of_parser_folder
from treeviews.pipeline.parsing.parse_shard import ParseJob, parse_shard
from treeviews.pipeline.trees.flat_trees import DependencyParse

MODULE = "tests.support.chain_job"


class ChainParser:
    """Rejects the word ``odd``; its name and checksum are those of its folder."""

    def __init__(self, folder: Path) -> None:
        self.name = folder.name
        self.checksum = checksum_of_parser_folder(folder)

    def parse(self, sentences: Sequence[Sequence[str]]) -> list[DependencyParse | Refusal]:
        return [
            Refusal("odd_word", "odd")
            if "odd" in tokens
            else DependencyParse(list(range(len(tokens))), ["root"] + ["dep"] * (len(tokens) - 1))
            for tokens in sentences
        ]


def execute(job: Mapping[str, Any], on_progress: Progress) -> None:
    """Parses a shard as soon as the file ``gate`` stands; ``broken`` is the shard that fails.

    Adds the number of the shard, a line each, to the file ``journal``.
    """
    for number in range(job["number"], job["number"] + job.get("count", 1)):
        if "gate" in job:
            wait_until(Path(job["gate"]).exists, seconds=300)
        if job.get("broken") == number:
            raise ValueError("broken on purpose")
        keys = ("stage", "sentences", "output")
        shard = ParseJob.from_dict({key: job[key] for key in keys} | {"number": number})
        parse_shard(shard, ChainParser(Path(job["parser"])), on_progress)
        if "journal" in job:
            with Path(job["journal"]).open("a", encoding="utf-8") as journal:
                journal.write(f"{number}\n")


if __name__ == "__main__":
    sys.exit(run_from_command_line(execute))
