"""Tasks that make parsers, by training or from an original checkpoint, and which a stage uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

import luigi

from treeviews.models.model.model_description import OPTION_OF_STAGE
from treeviews.pipeline.base.bundled import parser_folder, shipped_parsers
from treeviews.pipeline.base.digest import remembered_sha256
from treeviews.pipeline.base.mistakes import did_you_mean
from treeviews.pipeline.parser_training.__main__ import ParserTrainingJob, TrainingKind
from treeviews.pipeline.parsers.convert import (
    CONVERSION_VERSION,
    OFFICIAL_PARSERS,
    convert_checkpoint,
)
from treeviews.pipeline.parsers.parser_files import (
    DESCRIPTION_NAME,
    PARSER_FILES,
    RELEASED_WEIGHTS,
    STAGE_OF_KIND,
    STAGES,
    checksum_of_parser_folder,
    read_description,
    read_scores,
)
from treeviews.pipeline.parsing.parse_shard import TRANSFORMER_LIBRARIES, library_versions
from treeviews.tasks.artefact import Artefact, checksum
from treeviews.tasks.parameter_kinds import ChoiceParameter, Sha256Parameter

TRAINING_VERSION = 2
"""Raised when the same treebanks and options would give another parser, as by a new default."""


def paths_in(text: str) -> list[Path]:
    """Returns the paths in a comma-separated list."""
    return [Path(part.strip()) for part in text.split(",") if part.strip()]


class TrainParser(Artefact):
    """Parser training.

    Output: a parser folder (weights, vocabularies, metrics) for ``--dependency-parser`` or
    ``--constituency-parser`` of other tasks.
    """

    kind: ClassVar[Literal["dependency", "constituency"]]
    marker = "parser.json"
    job_module = "treeviews.pipeline.parser_training"

    name = luigi.Parameter(default="own", description="Name of the parser.")
    train = luigi.Parameter(description="Treebank files to train on, separated by commas.")
    dev = luigi.Parameter(description="Treebank files that select the best epoch.")
    exclude = luigi.Parameter(
        default="", description="Prefixes of document ids to leave out, separated by commas."
    )
    options = luigi.DictParameter(
        default={},
        description="More options of the training command, as JSON: '{\"num-epochs\": 10}'.",
    )
    threads = luigi.IntParameter(default=1, significant=False, description="CPU threads.")

    def treebanks(self) -> dict[str, list[Path]]:
        """Returns the files each option of the training's command line takes."""
        return {"train": paths_in(self.train), "dev": paths_in(self.dev)}

    def content(self) -> dict[str, Any]:
        """Returns the treebanks' checksums and the options."""
        return {
            "treebanks": {
                option: [checksum(path) for path in files]
                for option, files in self.treebanks().items()
            },
            "exclude": self.exclude,
            "options": {
                option: _folders_content(option, value) for option, value in self.options.items()
            },
            "training_version": TRAINING_VERSION,
        }

    def training(self) -> tuple[TrainingKind, dict[str, str]]:
        """Returns what is trained, and further options of it."""
        return self.kind, {}

    def place(self) -> Path:
        """Returns the parser's folder."""
        return self.work_folder / "parsers" / f"{self.kind}-{self.name}"

    def fill(self) -> None:
        """Runs the training, which resumes at its last epoch."""
        self.write_config()
        excluded = [part.strip() for part in self.exclude.split(",") if part.strip()]
        kind, further = self.training()
        options = {
            **{option: list(map(str, files)) for option, files in self.treebanks().items()},
            "exclude": excluded,
            **self.options,
            **further,
        }
        job = ParserTrainingJob(kind=kind, out=self.folder, options=options, threads=self.threads)
        self.run_job(job, threads=self.threads)


class TrainDependencyParser(TrainParser):
    """Trains supar's biaffine model on CoNLL-U treebanks."""

    kind = "dependency"

    transformer = luigi.Parameter(
        default="",
        description="Folder of a transformer that encodes the words, as written by save_pretrained "
        "of transformers. Default: an LSTM over words and characters.",
    )

    def content(self) -> dict[str, Any]:
        """Returns the treebanks' checksums, the options and the transformer's files, if any.

        Raises:
            FileNotFoundError: there is no transformer where one is said to be.
        """
        if not self.transformer:
            return super().content()
        files = _plain_files(self.transformer)
        if "config.json" not in files:
            raise FileNotFoundError(
                f"--transformer {self.transformer}: no folder with a transformer's config.json; "
                f"write one with transformers' save_pretrained"
            )
        return super().content() | {"transformer": files}

    def training(self) -> tuple[TrainingKind, dict[str, str]]:
        """Returns what is trained, and further options of it."""
        if not self.transformer:
            return super().training()
        return "dependency-transformer", {"transformer": self.transformer}


class TrainConstituencyParser(TrainParser):
    """Trains benepar's chart model on bracketed treebanks."""

    kind = "constituency"

    def content(self) -> dict[str, Any]:
        """Returns the treebanks' checksums and the options; digests are as they were."""
        content = super().content()
        content["treebanks"] |= {"train-documents": [], "dev-documents": []}
        return content


class ConvertParser(Artefact):
    """Converts a parser saved by supar or benepar to a parser folder.

    Input: a file or folder saved by the library, or the name of a published parser, which is
    downloaded. Output: a parser folder. Takes about ten seconds and the download.
    """

    marker = DESCRIPTION_NAME

    checkpoint = luigi.Parameter(description="File, folder or published name of the parser.")
    stage = ChoiceParameter(choices=STAGES, description="Kind of trees that the parser makes.")
    sha256 = Sha256Parameter(default="", description="sha256 of a file that you trust.")
    transformer = luigi.Parameter(
        default="",
        description="Folder, or name on the hub, with the configuration and tokenizer of the "
        "parser's transformer.",
    )

    def content(self) -> dict[str, Any]:
        """Returns the sha256, the plain files beside it, how is converted, and libraries."""
        return {
            "sha256": self.sha256,
            "beside": _plain_files(self.checkpoint),
            "stage": self.stage,
            "transformer": _plain_files(self.transformer) or self.transformer,
            "conversion_version": CONVERSION_VERSION,
            # Whether there is a transformer inside is known only once it is converted.
            "libraries": library_versions(TRANSFORMER_LIBRARIES),
        }

    def place(self) -> Path:
        """Returns a folder beside those of trained parsers, of the checkpoint's name."""
        return self.work_folder / "parsers" / Path(self.checkpoint).stem

    def fill(self) -> None:
        """Converts the checkpoint.

        Raises:
            ValueError: the checkpoint cannot be taken over, or its sha256 is not given.
            DownloadError: a published parser is not to be had.
        """
        self.write_config()
        convert_checkpoint(
            self.checkpoint,
            self.folder,
            sha256=self.sha256,
            stage=self.stage,
            transformer=self.transformer,
            downloads=self.work_folder / "downloads",
        )


@dataclass(frozen=True, slots=True)
class UsedParser:
    """The parser that a stage uses."""

    folder: Path
    checksum: str
    """Of all that determines its answers, as far as that is known before it is converted."""
    kind: str = ""
    """See `pipeline.parsers.parser_files`; empty where it is to be converted."""
    requires: Mapping[str, Artefact] = field(default_factory=dict)
    """What must run before it is there, by name."""


def used_parser(task: luigi.Task, stage: str) -> UsedParser:
    """Returns the parser that a task's parameters choose for a stage.

    Raises:
        FileNotFoundError: there is nothing of the given name; says what was looked for.
        ValueError: it is a parser folder of another kind, or of another checksum than was given.
    """
    option = OPTION_OF_STAGE[stage]
    chosen, sha256 = Path(getattr(task, option)), getattr(task, f"{option}_sha256")
    if not chosen.exists() and str(chosen) not in OFFICIAL_PARSERS:
        known = [*shipped_parsers(stage)]
        known += [name for name, one in OFFICIAL_PARSERS.items() if one.stage == stage]
        raise FileNotFoundError(
            f"--{option.replace('_', '-')} {chosen}: no such folder or file, and no parser of "
            f"{stage}{did_you_mean(str(chosen), known=known)}; known are {', '.join(known)}"
        )
    kind = "" if _is_checkpoint(chosen) else read_description(chosen).kind
    official = None if chosen.exists() else OFFICIAL_PARSERS[str(chosen)]
    gives = official.stage if official is not None else STAGE_OF_KIND.get(kind, stage)
    if gives != stage:
        raise ValueError(
            f"{chosen}: a parser that gives {gives}, not {stage}; give it as "
            f"{OPTION_OF_STAGE[gives]}"
        )
    if not _is_checkpoint(chosen):
        if sha256 and sha256 != (found := checksum_of_parser_folder(chosen)):
            raise ValueError(
                f"{chosen}: a parser folder of checksum {found}, not {sha256}; give the folder "
                f"that you mean, or its checksum as {option}_sha256"
            )
        read_scores(chosen)  # which the report would meet at the very end
        return UsedParser(chosen, checksum(chosen, names=PARSER_FILES), kind=kind)
    conversion: ConvertParser = task.clone(
        ConvertParser,
        checkpoint=str(chosen),
        stage=stage,
        sha256=sha256,
    )
    return UsedParser(conversion.folder, conversion.digest, requires={option: conversion})


def _folders_content(option: str, value: Any) -> Any:
    """Returns what a training's option gives: where that is a folder, what lies in it."""
    if option == "initial":
        return checksum(parser_folder(value), names=PARSER_FILES)
    return (_plain_files(value) or value) if option == "vectors" else value


def _is_checkpoint(chosen: Path) -> bool:
    if chosen.is_dir():
        return (chosen / RELEASED_WEIGHTS).is_file()
    return chosen.is_file() or str(chosen) in OFFICIAL_PARSERS


def _plain_files(folder: str) -> dict[str, str]:
    """Returns the sha256 of each file of a folder, if it is one, but of the pickle."""
    if not folder or not Path(folder).is_dir():
        return {}
    files = sorted(file for file in Path(folder).iterdir() if file.is_file())
    return {file.name: remembered_sha256(file) for file in files if file.name != RELEASED_WEIGHTS}
