"""Stages whose shards are made of a corpus's sentences, by Luigi's workers or by Ray."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

import luigi

from treeviews.pipeline.base.atomic_files import write_json_atomically
from treeviews.pipeline.base.digest import digest_of
from treeviews.pipeline.parsers.parser_files import (
    ParsedStage,
    checksum_of_parser_folder,
    parser_file_names,
    read_description,
)
from treeviews.pipeline.parsing.parse_shard import ParseShardJob, describe_parsing
from treeviews.pipeline.shards.manifests import (
    DatasetManifest,
    ShardRange,
    complete_shards,
    parser_problems,
    read_dataset_manifest,
    read_shard_manifest,
    write_dataset_manifest,
)
from treeviews.pipeline.storage.location import named_address, portable_address
from treeviews.pipeline.storage.shared_shards import SharedShards
from treeviews.pipeline.storage.stored_job import SentFiles, StoredJob, make_stored_shards
from treeviews.tasks.artefact import Artefact, ShardStage
from treeviews.tasks.checks import Check, check_device, check_installed
from treeviews.tasks.parameter_kinds import values_of
from treeviews.tasks.parameters import CorpusParameters, ParserParameters
from treeviews.tasks.parsers import UsedParser, used_parser
from treeviews.tasks.sentences import SplitSentences


class DerivedStage(CorpusParameters, ShardStage):
    """Makes a shard of each shard of sentences, then sums them up in ``manifest.json``.

    One job, in a process of its own, makes a range of them. What the storage has is not made again,
    and what is made is given to it.
    """

    stage: ClassVar[str]
    """Of the shards, as their manifests say it."""
    mixture_remedy: ClassVar[str]
    """What to do about shards that are not all made by the same."""

    def checks(self) -> list[Check]:
        """Refuses a device that is not there; Ray without the library, or that hides GPUs."""
        return [
            *super().checks(),
            lambda: check_device(self.device, self.engine),
            *([self._check_ray] if self.engine == "ray" else []),
        ]

    def _check_ray(self) -> None:
        check_installed("ray", "engine ray", "ray")
        if self.device.startswith("cuda") and not self.gpus_per_job:
            raise ValueError(
                "device is cuda and gpus_per_job is 0: Ray then hides the GPUs from the jobs; say "
                "what part of one a job takes, such as --gpus-per-job 0.25"
            )

    @property
    def sentences(self) -> Artefact:
        """The stage that writes the sentences."""
        return self.clone(SplitSentences)

    @property
    def parsed_from(self) -> Path:
        """Folder of the sentences."""
        return self.sentences.folder

    @property
    def maker_checksum(self) -> str:
        """Of the parser that makes the shards; empty where they are no parses."""
        return ""

    def read_folders(self) -> dict[str, Path]:
        """Returns the folders of shards that a job reads, each under the name of its stage."""
        return {"sentences": self.sentences.folder}

    def describe(self) -> Callable[[], Mapping[str, Any]]:
        """Returns what says by which releases a machine makes the shards."""
        raise NotImplementedError(f"{type(self).__name__} must define describe()")

    def stored_job(self, shared: SharedShards, run: ShardRange) -> StoredJob:
        """Returns the job of a range of shards that any machine runs."""
        describe, read = self.describe(), self.read_folders()
        places = {str(folder): name for name, folder in read.items()}
        return StoredJob(
            storage=shared.address,
            output=shared.place_of(self.folder),
            number=run.number,
            count=run.num_shards,
            module=self.job_module,
            values=self.shard_job(),
            folders={**places, str(self.folder): "output"},
            inputs={name: shared.place_of(folder) for name, folder in read.items()},
            describe=describe,
            described=describe(),
        )

    def sent_files(self) -> SentFiles:
        """Returns what such a machine is sent."""
        return {}

    def manifest(self) -> DatasetManifest:
        """Returns the manifest of the finished stage."""
        return read_dataset_manifest(self.folder, self.stage)

    def is_whole(self) -> bool:
        """Returns whether the shards are here and, as far as is known here, in the storage.

        The storage itself is not asked: Luigi asks before it forks, and a client of S3 has threads.
        """
        return super().is_whole() and (not self.storage or self._publication.exists())

    @property
    def resources(self) -> dict[str, int]:
        """What Luigi gives to one task at a time: a Ray of this machine takes all its cores."""
        alone = self.engine == "ray" and self.ray_address == "local"
        return {"ray_of_this_machine": 1} if alone else {}

    def ranges_left(self) -> list[ShardRange]:
        """Returns what is left to this machine, once what the storage has is here: of Ray, none."""
        self.write_config(sweep=False)
        numbers, shared = self._numbers(), self._shared()
        shared.begin(numbers, lambda: self.set_status_message("waiting for the sentences"))
        if self.engine == "ray":
            self._make_on_ray(shared, numbers)
        return shared.missing_ranges(numbers)

    def fill(self) -> None:
        """Marks the stage complete, whose shards are there, in the storage as well.

        Raises:
            ValueError: they are not all by the same; names the shards of each.
        """
        self.write_config()
        numbers = self._numbers()
        for problem in parser_problems(complete_shards(self.folder)):
            raise ValueError(f"{self.folder}: {problem}{self.mixture_remedy}")
        write_dataset_manifest(
            self.folder, self.stage, config=self.content(), num_shards=len(numbers)
        )
        self._shared().finish(numbers)
        if self.storage:
            write_json_atomically(self._publication, {"storage": named_address(self.storage)})

    def _numbers(self) -> list[int]:
        shards = read_dataset_manifest(self.sentences.folder, "sentences").shards
        return [shard.number for shard in shards]

    def _shared(self) -> SharedShards:
        """Returns the shards as other machines see them; without a storage, in the work folder."""
        return SharedShards(
            address=str(self.storage or self.work_folder),
            work_folder=Path(self.work_folder),
            sentences=self.sentences.folder,
            made=self.folder,
            stage=self.stage,
            parser_checksum=self.maker_checksum,
        )

    def _make_on_ray(self, shared: SharedShards, numbers: Sequence[int]) -> None:
        """Has Ray make the shards that are not complete, and takes each when it is.

        Raises:
            RuntimeError: jobs failed; names their shards.
        """
        from treeviews.tasks.ray_engine import run_on_ray

        left = {number for number in numbers if read_shard_manifest(self.folder, number) is None}
        if not left:
            return

        def jobs_for(most: int) -> list[StoredJob]:
            return [self.stored_job(shared, run) for run in shared.missing_ranges(numbers, most)]

        def take(job: StoredJob) -> None:
            for number in job.numbers:
                shared.fetch(number)
            left.difference_update(job.numbers)
            done, total = len(numbers) - len(left), len(numbers)
            self.report_progress(done / total, f"{done} of {total} shards {self.verb}")

        run_on_ray(
            make_stored_shards,
            jobs_for,
            self.sent_files(),
            take,
            address=self.ray_address,
            gpus_per_job=self.gpus_per_job,
        )

    @property
    def _publication(self) -> Path:
        """The note that the stage is complete in this storage, too."""
        return (
            self.folder / f"published-{digest_of({'storage': portable_address(self.storage)})}.json"
        )


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
        """Refuses a parser that is not there or of another kind."""
        return [*super().checks(), lambda: self.used_parser]

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

    def shard_job(self) -> dict[str, Any]:
        """Returns the job that parses shards on this machine, on one thread."""
        return {
            "device": self.device,
            **values_of(self, ParseShardJob),
            "parser_checksum": self.maker_checksum,
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
    """Parses every sentence into a binarized constituency tree with benepar's model."""

    stage = "constituents"


PARSE_STAGES: dict[str, type[ParseStage]] = {
    stage.stage: stage for stage in (ParseDependencies, ParseConstituents)
}
"""What parses are called -> the stage that makes them."""
