"""The stage that trains a pair of views."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from models.training.launching import LaunchSettings
from models.training.settings import RunSettings
from models.training_config import TRAINING_VERSION, TrainingConfig, preset
from models.views import STAGE_OF_VIEW
from pipeline.job import available_cores
from tasks.artefact import Artefact, checksum
from tasks.parameters import (
    CorpusParameters,
    HeldOutParameters,
    ParserParameters,
    TrainingParameters,
    joined,
)
from tasks.parsing import ParseConstituents, ParseDependencies, ParseStage
from tasks.process import run_job
from tasks.sentences import SplitSentences

VECTOR_FILES = ("vectors.safetensors", "words.json")
PARSE_STAGES: dict[str, type[ParseStage]] = {
    "dependencies": ParseDependencies,
    "constituents": ParseConstituents,
}


class TrainEncoders(
    CorpusParameters, HeldOutParameters, ParserParameters, TrainingParameters, Artefact
):
    """Trains two views of the same sentences to predict each other's context.

    Output: a model folder. Only the parses that the views read are required.
    """

    marker = "summary.json"

    @property
    def config(self) -> TrainingConfig:
        """The preset with the changes applied."""
        views = tuple(view.strip() for view in self.views.split(",")) if self.views else None
        own = {
            "views": views or preset(self.preset).views,
            "held_out_fraction": self.held_out_fraction,
            "held_out_seed": self.held_out_seed,
            "held_out_unit": self.held_out_unit,
            "seed": self.seed,
        }
        return preset(self.preset, **joined(dict(self.changes), own, "changes"))

    def requires(self) -> dict[str, Artefact]:
        """Returns the sentences, and the parses that the views read."""
        needed = {STAGE_OF_VIEW[view] for view in self.config.views}
        parses = {
            name: self.clone(stage, text="corpus")
            for name, stage in PARSE_STAGES.items()
            if name in needed
        }
        return {"sentences": self.clone(SplitSentences), **parses}

    def content(self) -> dict[str, Any]:
        """Returns the training's configuration and the digests of what it reads."""
        return {
            "training": self.config.to_dict(),
            "training_version": TRAINING_VERSION,
            "vectors": checksum(self.vectors, names=VECTOR_FILES),
            **{name: task.digest for name, task in self.requires().items()},
        }

    def architecture(self) -> dict[str, Any]:
        """Returns the fields of the configuration that an untrained encoder depends on."""
        names = (
            "views",
            "hidden_size",
            "bidirectional",
            "dep_cell",
            "init",
            "word_vectors",
            "embeddings",
            "trained_word_size",
            "trained_word_init",
            "trained_words",
            "vector_rms",
            "precision",
        )
        config = self.config.to_dict()
        return {name: config[name] for name in names}

    def place(self) -> Path:
        """Returns the model's folder."""
        return self.work_folder / "models" / "-".join(self.config.views)

    def launch(self) -> LaunchSettings:
        """Returns how many processes and threads the job takes.

        Raises:
            ValueError: a number of them that cannot be.
        """
        if self.threads < 0:
            raise ValueError(f"threads must be 0 or more, not {self.threads}")
        self.config.check_processes(self.processes)
        return LaunchSettings(
            threads=self.threads or max(1, available_cores() // 2),
            processes=self.processes,
            max_restarts=self.max_restarts,
        )

    def settings(self) -> RunSettings:
        """Returns the other machine settings of the job.

        Raises:
            ValueError: a number that cannot be.
        """
        return RunSettings(
            device=self.device,
            gemm=self.gemm,
            keep_checkpoints=self.keep_checkpoints,
            checkpoint_every_seconds=self.checkpoint_every_seconds,
            tensorboard={"auto": None, "yes": True, "no": False}[self.tensorboard],
            progress_bar=sys.stderr.isatty(),
        )

    def run(self) -> None:
        """Runs the training, which resumes at its last checkpoint."""
        launch, settings = self.launch(), self.settings()
        self.write_config()
        job = {
            "config": self.config.to_dict(),
            "corpus": {name: str(task.folder) for name, task in self.requires().items()},
            "parsers": {
                name: str(task.parser_folder)
                for name, task in self.requires().items()
                if isinstance(task, ParseStage)
            },
            "vectors": str(self.vectors),
            "out": str(self.folder),
            "launch": asdict(launch),
            "settings": asdict(settings),
        }
        path = self.folder / "job.json"
        run_job(self, "models.train", job, path, threads=launch.threads or 1)
