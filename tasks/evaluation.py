"""Stages that build the probing tasks, embed their sentences and score the encoders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import luigi

from models.evaluation.probing.build import build_probing
from models.evaluation.probing.config import ProbingConfig
from models.evaluation.probing.sentences import ParsedFolders
from models.evaluation.rows import RowDeclaration, declare_rows, row_job
from tasks.artefact import Artefact, checksum
from tasks.parameters import (
    CorpusParameters,
    HeldOutParameters,
    ParserParameters,
    TrainingParameters,
)
from tasks.parsing import ParseConstituents, ParseDependencies
from tasks.probing_text import ShiftBigrams
from tasks.process import run_job
from tasks.sentences import SplitSentences
from tasks.training import VECTOR_FILES, TrainEncoders


class BuildProbing(CorpusParameters, HeldOutParameters, ParserParameters, Artefact):
    """Builds the probing tasks from the held-out documents of the parsed corpus.

    Output: which sentence carries which label in which split of which task.
    """

    marker = "probing.json"

    def requires(self) -> dict[str, dict[str, Artefact]]:
        """Returns the corpus and the altered sentences, each with both parses."""
        parts = {"corpus": ("corpus", SplitSentences), "shifted": ("bigram_shift", ShiftBigrams)}
        return {
            part: {
                "sentences": self.clone(sentences),
                "dependencies": self.clone(ParseDependencies, text=text),
                "constituents": self.clone(ParseConstituents, text=text),
            }
            for part, (text, sentences) in parts.items()
        }

    @property
    def config(self) -> ProbingConfig:
        """Sizes, limits and seeds of the tasks."""
        config: ProbingConfig = self.clone(ShiftBigrams).config
        return config

    def folders(self) -> dict[str, ParsedFolders]:
        """Returns where the two parts stand."""
        return {
            part: ParsedFolders(**{name: task.folder for name, task in stages.items()})
            for part, stages in self.requires().items()
        }

    def content(self) -> dict[str, Any]:
        """Returns the configuration and the digests of both parts."""
        digests = {
            part: {name: task.digest for name, task in stages.items()}
            for part, stages in self.requires().items()
        }
        return {"probing": self.config.to_dict(), **digests}

    def place(self) -> Path:
        """Returns the probing folder."""
        return self.work_folder / "probing" / str(self.source)

    def run(self) -> None:
        """Builds all tasks in one pass over the held-out sentences."""
        self.write_config()
        folders = self.folders()
        build_probing(folders["corpus"], folders["shifted"], self.folder, self.config)


class ProbingStage(
    CorpusParameters, HeldOutParameters, ParserParameters, TrainingParameters, Artefact
):
    """What embedding and scoring share: their places in the chain."""

    @property
    def training(self) -> TrainEncoders:
        """The task that trains the pair."""
        task: TrainEncoders = self.clone(TrainEncoders)
        return task

    @property
    def probing(self) -> BuildProbing:
        """The task that builds the probing tasks."""
        task: BuildProbing = self.clone(BuildProbing)
        return task


class EmbedProbing(ProbingStage):
    """Embeds the probing tasks' sentences with one encoder.

    Output: one array a view, float32 [sentences, width].
    """

    marker = "embed.json"

    encoder = luigi.Parameter(
        description="trained, random-<seed> (the same architecture untrained) or bag_of_words."
    )

    def requires(self) -> dict[str, Artefact]:
        """Returns the probing tasks and the model."""
        return {"probing": self.probing, "model": self.training}

    def content(self) -> dict[str, Any]:
        """Returns the encoder and the digests of what it reads."""
        return {
            "encoder": self.encoder,
            "probing": self.probing.digest,
            "model": self.training.digest,
            "vectors": checksum(self.vectors, names=VECTOR_FILES),
        }

    def place(self) -> Path:
        """Returns the embeddings' folder."""
        return self.work_folder / "embeddings" / str(self.encoder)

    def encoder_job(self) -> dict[str, Any]:
        """Returns how the embedding job names the encoder.

        Raises:
            ValueError: no such encoder.
        """
        model = str(self.training.folder)
        if self.encoder == "trained":
            return {"kind": "trained", "model": model}
        if self.encoder == "bag_of_words":
            return {"kind": "bag_of_words", "vectors": str(self.vectors)}
        kind, _, seed = self.encoder.partition("-")
        if kind != "random" or not seed.isdigit():
            raise ValueError(
                f"encoder must be trained, random-<seed> or bag_of_words, got {self.encoder!r}"
            )
        return {"kind": "random", "model": model, "seed": int(seed)}

    def run(self) -> None:
        """Runs the embedding job on one thread: several of them run side by side."""
        self.write_config()
        parts = {
            part: {name: str(task.folder) for name, task in stages.items()}
            for part, stages in self.probing.requires().items()
        }
        job = {
            "probing": str(self.probing.folder),
            **parts,
            "encoder": self.encoder_job(),
            "out": str(self.folder),
            "device": self.device,
            "threads": 1,
        }
        run_job(self, "models.embed", job, self.folder / "job.json", threads=1)


class ProbeEncoder(ProbingStage):
    """Scores one row of the table on all probing tasks.

    Output: accuracy, confidence interval and chosen regulariser of every task.
    """

    marker = "result.json"

    row = luigi.Parameter(description="Name of the row; RunAll scores them all.")

    @property
    def declaration(self) -> RowDeclaration:
        """Which embeddings the row joins.

        Raises:
            ValueError: no such row.
        """
        rows = {row.name: row for row in declare_rows(self.training.config.views)}
        if self.row not in rows:
            raise ValueError(f"unknown row {self.row!r}; known: {', '.join(rows)}")
        return rows[self.row]

    def requires(self) -> dict[str, Artefact]:
        """Returns the embeddings the row joins, and the tasks' labels."""
        files = self.declaration.embeddings + self.declaration.project_to_width_of
        needed = {
            name: self.clone(EmbedProbing, encoder=name)
            for name in sorted({file.embedding_set for file in files})
        }
        return {"probing": self.probing, **needed}

    def content(self) -> dict[str, Any]:
        """Returns the row and the digests of what it joins."""
        return {
            "row": self.row,
            **{name: task.digest for name, task in self.requires().items()},
        }

    def place(self) -> Path:
        """Returns the row's folder."""
        return self.work_folder / "probes" / str(self.row)

    def run(self) -> None:
        """Runs the classifiers on one thread: several rows run side by side."""
        self.write_config()
        embeddings = {n: t.folder for n, t in self.requires().items() if n != "probing"}
        out = self.folder / self.marker
        job = {
            "probing": str(self.probing.folder),
            "rows": [row_job(self.declaration, embeddings, out)],
            "threads": 1,
        }
        run_job(self, "models.evaluate_probing", job, self.folder / "job.json", threads=1)


def row_tasks(stage: ProbingStage) -> list[ProbeEncoder]:
    """Returns one task a row of the table, in the table's order."""
    rows = declare_rows(stage.training.config.views)
    return [stage.clone(ProbeEncoder, row=row.name) for row in rows]
