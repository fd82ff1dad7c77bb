"""Tasks that train a parser on a treebank of the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import luigi

from tasks.artefact import Artefact, checksum, run_job

TRAINING_VERSION = 1
"""Raised when the same treebanks and options would give another parser, as by a new default."""


def paths_in(text: str) -> list[Path]:
    """Returns the paths in a comma-separated list."""
    return [Path(part.strip()) for part in text.split(",") if part.strip()]


class TrainParser(Artefact):
    """What the training of both kinds of parser shares.

    Output: a parser folder (weights, vocabularies, metrics), to be named by
    ``--dependency-parser`` or ``--constituency-parser`` of the other tasks.
    """

    kind: ClassVar[str]
    marker = "parser.json"

    name = luigi.Parameter(default="own", description="Readable name of the parser.")
    train = luigi.Parameter(description="Treebank files to train on, separated by commas.")
    dev = luigi.Parameter(description="Treebank files whose score chooses the epoch.")
    exclude = luigi.Parameter(
        default="", description="Leave out documents whose id begins so; separated by commas."
    )
    options = luigi.DictParameter(
        default={},
        description="Further options of the training's command line, as JSON: "
        "'{\"num-epochs\": 10}'.",
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
            "options": dict(self.options),
            "training_version": TRAINING_VERSION,
        }

    def place(self) -> Path:
        """Returns the parser's folder."""
        return self.work_folder / "parsers" / f"{self.kind}-{self.name}"

    def run(self) -> None:
        """Runs the training, which resumes at its last epoch."""
        self.write_config()
        arguments = [str(self.folder), "--threads", str(self.threads)]
        for option, files in self.treebanks().items():
            arguments += [f"--{option}", *map(str, files)] if files else []
        excluded = [part.strip() for part in self.exclude.split(",") if part.strip()]
        arguments += ["--exclude", *excluded] if excluded else []
        for option, value in self.options.items():
            arguments += [f"--{option}", str(value)]
        job = {"kind": self.kind, "arguments": arguments}
        path = self.folder / "job.json"
        run_job(self, "pipeline.parser_training", job, path, threads=self.threads)


class TrainDependencyParser(TrainParser):
    """Trains supar's biaffine model on CoNLL-U treebanks."""

    kind = "dependency"


class TrainConstituencyParser(TrainParser):
    """Trains benepar's chart model on bracketed treebanks."""

    kind = "constituency"

    train_documents = luigi.Parameter(
        default="", description="A CoNLL-U file for each of train, which tells its documents."
    )
    dev_documents = luigi.Parameter(default="", description="The same for dev.")

    def treebanks(self) -> dict[str, list[Path]]:
        """Returns the files each option of the training's command line takes."""
        return super().treebanks() | {
            "train-documents": paths_in(self.train_documents),
            "dev-documents": paths_in(self.dev_documents),
        }
