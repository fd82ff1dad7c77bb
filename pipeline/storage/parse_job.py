"""What a machine of a cluster does of a corpus's parsing, by a parser that it is sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.base.inside import inside
from pipeline.base.machine import check_releases
from pipeline.parsers.parser_files import ParsedStage, parser_file_names
from pipeline.parsing.parse_shard import describe_parsing
from pipeline.storage.stored_job import StoredJob


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredParseJob(StoredJob):
    """Which shards to parse, and how; the parser's files are sent."""

    module: str = "pipeline.parsing.parse_shard"
    sentences: str
    """Folder of the sentence shards in the storage."""
    stage: ParsedStage
    parser_name: str
    """Name of the parser's folder."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the job's file (see `pipeline.parsing.parse_shard`), such as ``device``."""
    described: Mapping[str, Any] = field(default_factory=dict)
    """What `describe_parsing` says where the result's digest was made."""

    @property
    def inputs(self) -> Mapping[str, str]:
        """The sentences."""
        return {"sentences": self.sentences}

    def check_machine(self) -> None:
        """Checks that this machine parses as the stage's digest says.

        Raises:
            ValueError: it does not; names what differs.
        """
        kind = self.described.get("parser_kind", "")
        check_releases(self.described, describe_parsing(self.stage, kind=kind))

    def files_folder(self, scratch: Path) -> Path:
        """Returns the parser's folder."""
        return inside(scratch / "parser", self.parser_name)

    def description(self, scratch: Path, output: Path) -> dict[str, Any]:
        """Returns what to parse, by which parser, and how."""
        return {
            **self.options,
            "stage": self.stage,
            "sentences": str(scratch / "sentences"),
            "output": str(output),
            "parser": str(self.files_folder(scratch)),
        }


def read_parser_files(folder: Path) -> dict[str, bytes]:
    """Returns the files of a parser, to be sent to other machines.

    Raises:
        ValueError: one is missing or stands outside the folder; names it.
    """
    return {name: (folder / name).read_bytes() for name in parser_file_names(folder)}
