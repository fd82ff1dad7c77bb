"""Stages that parse: one task a dataset, one job in its own process a shard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import luigi

from pipeline.parsing import describe_parsing
from pipeline.shards import (
    DatasetManifest,
    read_dataset_manifest,
    read_shard_manifest,
    write_dataset_manifest,
)
from tasks.artefact import Artefact, checksum
from tasks.parameters import CorpusParameters, ParserParameters
from tasks.process import run_job
from tasks.sentences import SplitSentences

PARSER_FILES = ("weights.safetensors", "parser.json")


class ParseShard(luigi.Task):
    """Parses one sentence shard; the unit that a kill can cost.

    Input: a sentence shard. Output: the parsed shard of the same number, rows in the same order.
    """

    stage = luigi.ChoiceParameter(choices=["dependencies", "constituents"])
    sentences = luigi.PathParameter(description="Folder of the sentence shards.")
    destination = luigi.PathParameter(description="Folder of the parsed shards.")
    number = luigi.IntParameter(description="Shard number.")
    parser = luigi.PathParameter(significant=False, description="Folder of the parser.")
    device = luigi.Parameter(default="cpu", significant=False)

    def output(self) -> luigi.LocalTarget:
        """Returns the shard's manifest, which is written last."""
        return luigi.LocalTarget(str(self.destination / f"{self.number:05d}.json"))

    def complete(self) -> bool:
        """Returns whether both the manifest and the rows are there."""
        return read_shard_manifest(self.destination, self.number) is not None

    def run(self) -> None:
        """Runs the shard job on one thread: more of them slow a parser down."""
        job = {
            "stage": self.stage,
            "parser": str(self.parser),
            "sentences": str(self.sentences),
            "output": str(self.destination),
            "number": self.number,
            "device": self.device,
        }
        path = self.destination / "jobs" / f"{self.number:05d}.json"
        run_job(self, "pipeline.parse_shard", job, path, threads=1)


class ParseStage(CorpusParameters, ParserParameters, Artefact):
    """Parses every shard of a dataset, then sums them up in ``manifest.json``."""

    stage: ClassVar[str]

    @property
    def parser_folder(self) -> Path:
        """Folder of the parser's weights."""
        raise NotImplementedError(f"{type(self).__name__} must define parser_folder")

    def requires(self) -> Artefact:
        """Returns the stage that writes the sentences."""
        upstream: Artefact = self.clone(SplitSentences)
        return upstream

    def content(self) -> dict[str, Any]:
        """Returns the sentences' digest, the parser's checksum and how it is used."""
        return {
            "sentences": self.requires().digest,
            "parser": str(self.parser_folder.name),
            "parser_checksum": checksum(self.parser_folder, names=PARSER_FILES),
            "parsing": describe_parsing(self.stage),
        }

    def place(self) -> Path:
        """Returns a folder beside the sentence shards."""
        return self.requires().folder.parent / f"{self.stage}-{self.parser_folder.name}"

    def manifest(self) -> DatasetManifest:
        """Returns the manifest of the finished stage."""
        return read_dataset_manifest(self.folder, self.stage)

    def run(self) -> Iterator[list[ParseShard]]:
        """Yields all shard jobs at once, then marks the stage complete."""
        self.write_config()
        sentences = self.requires().folder
        shards = read_dataset_manifest(sentences, "sentences").shards
        done = sum(read_shard_manifest(self.folder, s.number) is not None for s in shards)
        self.report_progress(done / max(len(shards), 1), f"{done} of {len(shards)} shards parsed")
        yield [
            ParseShard(
                stage=self.stage,
                sentences=sentences,
                destination=self.folder,
                number=shard.number,
                parser=self.parser_folder,
                device=self.device,
            )
            for shard in shards
        ]
        write_dataset_manifest(
            self.folder, self.stage, config=self.content(), num_shards=len(shards)
        )


class ParseDependencies(ParseStage):
    """Parses every sentence into a labelled dependency tree with supar's biaffine model."""

    stage = "dependencies"

    @property
    def parser_folder(self) -> Path:
        """Folder of the dependency parser."""
        return Path(self.dependency_parser)


class ParseConstituents(ParseStage):
    """Parses every sentence into a constituency tree with benepar's model and binarizes it."""

    stage = "constituents"

    @property
    def parser_folder(self) -> Path:
        """Folder of the constituency parser."""
        return Path(self.constituency_parser)
