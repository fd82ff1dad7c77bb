"""Stages that parse: one task a dataset, one job in its own process a shard."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import luigi

from pipeline.base.atomic_files import RUN_LOCK, write_json_atomically
from pipeline.base.digest import digest_of
from pipeline.parsers.adapters.folder_files import (
    STAGES,
    checksum_of_parser_folder,
    named_kind,
)
from pipeline.parsing.parse_shard import ParseJob, describe_parsing
from pipeline.shards.manifests import (
    DatasetManifest,
    complete_shards,
    parser_problems,
    read_dataset_manifest,
    read_shard_manifest,
    shard_ranges,
    write_dataset_manifest,
)
from pipeline.storage.location import named_address, portable_address
from pipeline.storage.shard_job import (
    SharedParses,
    StoredShardJob,
    parse_stored_shard,
    read_parser_files,
)
from tasks.artefact import Artefact, ShardStage
from tasks.parameters import CorpusParameters, ParserParameters
from tasks.parsers import UsedParser, used_parser
from tasks.sentences import SplitSentences
from tasks.shard_jobs import ShardJob, ray_engine


class ParseShard(ShardJob):
    """Parses sentence shards.

    Input: sentence shards. Output: the parsed shards of the same numbers, rows in the same order.
    On one thread, as more slow a parser down.
    """

    job_module = "pipeline.parsing.parse_shard"

    stage = luigi.ChoiceParameter(choices=STAGES)
    sentences = luigi.PathParameter(description="Folder of the sentence shards.")
    parser = luigi.PathParameter(significant=False, description="Folder of the parser.")
    options = luigi.DictParameter(
        default={}, significant=False, description="How to parse: further fields of the job's file."
    )

    def job(self) -> dict[str, Any]:
        """Returns what to parse, by which parser, and how."""
        described = ParseJob(self.stage, self.sentences, self.destination, self.number)
        return {**self.options, **described.to_dict(), "parser": str(self.parser)}


class ParseStage(CorpusParameters, ParserParameters, ShardStage):
    """Parses every shard of a dataset, then sums them up in ``manifest.json``."""

    stage: ClassVar[str]
    shard_task: ClassVar[type[ParseShard]] = ParseShard

    @property
    def sentences(self) -> Artefact:
        """The stage that writes the sentences."""
        upstream: Artefact = self.clone(SplitSentences)
        return upstream

    @property
    def parsed_from(self) -> Path:
        """Folder of the sentences."""
        return self.sentences.folder

    @cached_property
    def used_parser(self) -> UsedParser:
        """The parser, and what makes it where it is an original checkpoint."""
        return used_parser(self, self.stage)

    @property
    def parser_folder(self) -> Path:
        """Folder of the parser's weights."""
        return self.used_parser.folder

    @cached_property
    def parser_checksum(self) -> str:
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
            "precision": self.parser_precision,
        }

    def place(self) -> Path:
        """Returns a folder beside the sentence shards."""
        return self.sentences.folder.parent / f"{self.stage}-{self.parser_folder.name}"

    def manifest(self) -> DatasetManifest:
        """Returns the manifest of the finished stage."""
        return read_dataset_manifest(self.folder, self.stage)

    @property
    def job_options(self) -> dict[str, Any]:
        """How every shard is parsed, wherever that is: further fields of the jobs' files."""
        return {
            "device": self.device,
            "precision": self.parser_precision,
            "batch_tokens": self.parser_batch_tokens,
            "parser_checksum": self.parser_checksum,
        }

    def complete(self) -> bool:
        """Returns whether the stage is complete here and, as far as is known here, in its storage.

        The storage itself is not asked: Luigi asks before it forks, and a client of S3 has threads.
        """
        complete: bool = super().complete()
        return complete and (not self.storage or self._publication.exists())

    @property
    def resources(self) -> dict[str, int]:
        """What Luigi gives to one task at a time: a Ray of this machine takes all its cores."""
        alone = self.engine == "ray" and self.ray_address == "local"
        return {"ray_of_this_machine": 1} if alone else {}

    def _shared(self) -> SharedParses:
        """Returns the shards as other machines see them; without a storage, in the work folder."""
        return SharedParses(
            address=str(self.storage or self.work_folder),
            work_folder=Path(self.work_folder),
            sentences=self.sentences.folder,
            parses=self.folder,
            stage=self.stage,
            parser_checksum=self.parser_checksum,
        )

    def run(self) -> Iterator[list[ParseShard]]:
        """Has the shards parsed that no storage has, then marks the stage complete.

        Where another run is at a shard, its task waits and takes that. A run that comes while
        shards are being parsed may so parse some of them, too, but no two the same.
        """
        with self.held(self.folder / RUN_LOCK):
            missing = [] if self.complete() else self._begin()
        if missing:
            yield missing
        super().run()

    def _begin(self) -> list[ParseShard]:
        """Takes what the storage has, and the rest from Ray where that is the engine.

        Returns:
            The tasks of all shards, where Luigi is to run them.
        """
        self.write_config()
        numbers, shared = self._numbers(), self._shared()
        shared.begin(numbers, lambda: self.set_status_message("waiting for the sentences"))
        if self.engine == "ray":
            self._parse_on_ray(shared, numbers)
            return []
        return self._shard_tasks(numbers)

    def _numbers(self) -> list[int]:
        shards = read_dataset_manifest(self.sentences.folder, "sentences").shards
        return [shard.number for shard in shards]

    def fill(self) -> None:
        """Marks the stage complete, whose shards are there, in the storage as well."""
        numbers = self._numbers()
        self._check_parsers()
        write_dataset_manifest(
            self.folder, self.stage, config=self.content(), num_shards=len(numbers)
        )
        self._shared().finish(numbers)
        if self.storage:
            write_json_atomically(self._publication, {"storage": named_address(self.storage)})

    def _check_parsers(self) -> None:
        """Checks that all shards are by one parser in one arithmetic, wherever they were made.

        Raises:
            ValueError: they are not; names the shards of each.
        """
        for problem in parser_problems(complete_shards(self.folder)):
            raise ValueError(
                f"{self.folder}: {problem}: on one kind of device, or with --parser-precision "
                "exact; delete the shards of the others here and in the storage"
            )

    def _shard_tasks(self, numbers: Sequence[int]) -> list[ParseShard]:
        done = sum(read_shard_manifest(self.folder, number) is not None for number in numbers)
        self._report_shards(done, len(numbers))
        sentences = self.sentences.folder
        return [
            self.shard_task(
                stage=self.stage,
                sentences=sentences,
                destination=self.folder,
                number=number,
                count=count,
                parser=self.parser_folder,
                options=self.job_options,
            )
            for number, count in shard_ranges(len(numbers))
        ]

    def _parse_on_ray(self, shared: SharedParses, numbers: Sequence[int]) -> None:
        """Has Ray parse the shards that are not complete, and takes each when it is.

        Raises:
            ModuleNotFoundError: Ray is not installed.
            ValueError: jobs would get no GPU to run on, or one that they do not use.
            RuntimeError: jobs failed; names their shards.
        """
        self._check_gpus_per_job()
        engine = ray_engine()
        jobs = shared.jobs(
            numbers,
            stage=self.stage,
            parser_name=self.parser_folder.name,
            options=self.job_options,
            parsing=describe_parsing(self.stage, kind=named_kind(self.parser_folder)),
            module=self.shard_task.job_module,
        )
        done = len(numbers) - len(jobs)
        self._report_shards(done, len(numbers))
        if not jobs:
            return

        def take(job: StoredShardJob) -> None:
            nonlocal done
            shared.fetch(job.number)
            done += 1
            self._report_shards(done, len(numbers))

        files = read_parser_files(self.parser_folder)
        settings = engine.RaySettings.of(self, self.device, self.gpus_per_job)
        engine.run_on_ray(parse_stored_shard, jobs, files, settings, take)

    def _check_gpus_per_job(self) -> None:
        """Checks that jobs on Ray take a part of a GPU where they use one, and only there.

        Raises:
            ValueError: they do not; names the remedy.
        """
        if self.device.startswith("cuda") and not self.gpus_per_job:
            raise ValueError(
                "device is cuda and gpus_per_job is 0: Ray then hides the GPUs from the jobs; say "
                "what part of one a job takes, such as --gpus-per-job 0.25"
            )
        if self.device == "cpu" and self.gpus_per_job:
            raise ValueError(
                f"device is cpu and gpus_per_job is {self.gpus_per_job:g}: Ray would keep GPUs for "
                "jobs that use none; say --device cuda, or leave --gpus-per-job away"
            )

    @property
    def _publication(self) -> Path:
        """The note that the stage is complete in this storage, too."""
        return (
            self.folder / f"published-{digest_of({'storage': portable_address(self.storage)})}.json"
        )

    def _report_shards(self, done: int, total: int) -> None:
        self.report_progress(done / max(total, 1), f"{done} of {total} shards parsed")


class ParseDependencies(ParseStage):
    """Parses every sentence into a labelled dependency tree with supar's biaffine model."""

    stage = "dependencies"


class ParseConstituents(ParseStage):
    """Parses every sentence into a constituency tree with benepar's model and binarizes it."""

    stage = "constituents"
