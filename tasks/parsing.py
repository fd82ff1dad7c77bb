"""Stages that parse: a task a dataset, a job in a process of its own a range of shards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

import luigi

from treeviews.pipeline.parsers.parser_files import (
    ParsedStage,
    checksum_of_parser_folder,
    parser_file_names,
    read_description,
)
from treeviews.pipeline.parsing.parse_shard import ParseShardJob, describe_parsing
from treeviews.pipeline.shards.manifests import ShardRange
from treeviews.pipeline.storage.shared_shards import SharedShards
from treeviews.pipeline.storage.stored_job import SentFiles, StoredJob
from treeviews.tasks.artefact import Artefact
from treeviews.tasks.checks import Check, check_device
from treeviews.tasks.derived_shards import DerivedStage
from treeviews.tasks.parameter_kinds import values_of
from treeviews.tasks.parameters import ParserParameters
from treeviews.tasks.parsers import UsedParser, used_parser


class ParseStage(ParserParameters, DerivedStage):
    """Parses every shard of a dataset, then sums them up in ``manifest.json``."""

    stage: ClassVar[ParsedStage]
    verb = "parsed"
    mixture_remedy = (
        ": on one kind of device, or with --parser-precision exact; delete the shards of the "
        "others here and in the storage"
    )
    job_module = "treeviews.pipeline.parsing.parse_shard"

    @cached_property
    def used_parser(self) -> UsedParser:
        """The parser, and what makes it where it is an original checkpoint."""
        return used_parser(self, self.stage)

    @property
    def parser_folder(self) -> Path:
        """Folder of the parser's weights."""
        return self.used_parser.folder

    @cached_property
    def maker_checksum(self) -> str:
        """Checksum of the parser's folder, which every job must find.

        Raises:
            ValueError: it is no longer the parser that this stage's digest stands for.
        """
        if used_parser(self, self.stage).checksum != self.used_parser.checksum:
            raise ValueError(
                f"{self.parser_folder}: the parser was replaced since this run began; start the "
                "run again, or restore the parser"
            )
        return checksum_of_parser_folder(self.parser_folder)

    def checks(self) -> list[Check]:
        """Refuses a parser that is not there or of another kind, and a device that is not."""
        return [
            *super().checks(),
            lambda: self.used_parser,
            lambda: check_device(self.device, self.engine),
        ]

    def checked(self) -> list[luigi.Task]:
        """Returns the sentences, whatever is said of the parser."""
        return [self.sentences]

    def requires(self) -> dict[str, Artefact]:
        """Returns the stage that writes the sentences, and what makes the parser."""
        return {"sentences": self.sentences, **self.used_parser.requires}

    def content(self) -> dict[str, Any]:
        """Returns the sentences' digest, the parser's checksum and how it is used."""
        return {
            "sentences": self.sentences.digest,
            "parser": str(self.parser_folder.name),
            "parser_checksum": self.used_parser.checksum,
            "parsing": describe_parsing(self.stage, kind=self.used_parser.kind),
            **values_of(self, ParseShardJob, significant_only=True),
        }

    def place(self) -> Path:
        """Returns a folder beside the sentence shards."""
        return self.sentences.folder.parent / f"{self.stage}-{self.parser_folder.name}"

    @property
    def job_options(self) -> dict[str, Any]:
        """How every shard is parsed, wherever that is: further fields of the jobs' files."""
        return {
            "device": self.device,
            **values_of(self, ParseShardJob),
            "parser_checksum": self.maker_checksum,
        }

    def shard_job(self, run: ShardRange) -> dict[str, Any]:
        """Returns the job that parses a range of shards on this machine, on one thread."""
        return {
            **self.job_options,
            "stage": self.stage,
            "sentences": str(self.sentences.folder),
            "output": str(self.folder),
            "parser": str(self.parser_folder),
        }

    def describe(self) -> Callable[[], Mapping[str, Any]]:
        """Returns what says by which releases a machine parses."""
        return partial(describe_parsing, self.stage, kind=read_description(self.parser_folder).kind)

    def stored_job(self, shared: SharedShards, run: ShardRange) -> StoredJob:
        """Returns the job of a range of shards that any machine runs, by the parser it is sent."""
        job, folder = super().stored_job(shared, run), f"parser/{self.parser_folder.name}"
        folders = {**job.folders, str(self.parser_folder): folder}
        return replace(job, folders=folders, files_folder=folder)

    def sent_files(self) -> SentFiles:
        """Returns the parser's files.

        Raises:
            ValueError: one is missing or stands outside the folder; names it.
        """
        folder = self.parser_folder
        return {name: (folder / name).read_bytes() for name in parser_file_names(folder)}


class ParseDependencies(ParseStage):
    """Parses every sentence into a labelled dependency tree with supar's biaffine model."""

    stage = "dependencies"


class ParseConstituents(ParseStage):
    """Parses every sentence into a constituency tree with benepar's model and binarizes it."""

    stage = "constituents"
