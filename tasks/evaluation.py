"""Stages that build the probing tasks, embed their sentences and score the encoders."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import luigi

from models.evaluation.probe_config import PROBE_VERSION, ProbeConfig
from models.evaluation.probing.build import build_probing
from models.evaluation.probing.config import PROBING_VERSION, ProbingConfig
from models.evaluation.probing.sentences import ParsedFolders
from models.evaluation.rows import (
    BAG_OF_WORDS,
    EMBEDDING_VERSION,
    PAIR_ROW,
    TRAINED,
    RowDeclaration,
    declare_rows,
    row_job,
)
from tasks.artefact import Artefact
from tasks.parameters import (
    CorpusParameters,
    HeldOutParameters,
    ParserParameters,
    TrainingParameters,
)
from tasks.parsing import ParseConstituents, ParseDependencies
from tasks.probing_text import (
    AlterSentences,
    ParseAlteredConstituents,
    ParseAlteredDependencies,
)
from tasks.process import run_job
from tasks.sentences import SplitSentences
from tasks.training import TrainEncoders


class BuildProbing(CorpusParameters, HeldOutParameters, ParserParameters, Artefact):
    """Builds the probing tasks from the held-out documents of the parsed corpus.

    Output: which sentence carries which label in which split of which task.
    """

    marker = "probing.json"

    def requires(self) -> dict[str, dict[str, Artefact]]:
        """Returns the corpus and the altered sentences, each with both parses."""
        return {
            "corpus": {
                "sentences": self.clone(SplitSentences),
                "dependencies": self.clone(ParseDependencies),
                "constituents": self.clone(ParseConstituents),
            },
            "altered": {
                "sentences": self.clone(AlterSentences),
                "dependencies": self.clone(ParseAlteredDependencies),
                "constituents": self.clone(ParseAlteredConstituents),
            },
        }

    @property
    def config(self) -> ProbingConfig:
        """Sizes, limits and seeds of the tasks."""
        config: ProbingConfig = self.clone(AlterSentences).config
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
        version = {"probing_version": PROBING_VERSION}
        return {"probing": self.config.to_dict(), **version, **digests}

    def place(self) -> Path:
        """Returns the probing folder."""
        return self.work_folder / "probing" / str(self.source)

    def run(self) -> None:
        """Builds all tasks in one pass over the held-out sentences."""
        self.write_config()
        folders = self.folders()
        build_probing(folders["corpus"], folders["altered"], self.folder, self.config)


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
    def seeds(self) -> tuple[int, ...]:
        """The seeds to train with, the first one's views being scored alone too.

        Raises:
            ValueError: ``further_seeds`` is not a list of whole numbers.
        """
        further = self.further_seeds
        if not isinstance(further, list | tuple) or not all(isinstance(s, int) for s in further):
            raise ValueError(f"further_seeds must be a list of whole numbers, got {further!r}")
        return tuple(dict.fromkeys((self.seed, *further)))

    @property
    def rows(self) -> tuple[RowDeclaration, ...]:
        """The rows of the table."""
        config = self.training.config
        return declare_rows(
            config.test_views,
            trained_seeds=self.seeds,
            embedding_width=config.embedding_width,
        )

    @property
    def trainings(self) -> list[TrainEncoders]:
        """The task that trains the pair with each of the seeds."""
        return [self.clone(TrainEncoders, seed=seed) for seed in self.seeds]

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
        default=TRAINED,
        description="trained, trained-<further seed>, random-<seed> (the same architecture "
        "untrained) or bag_of_words.",
    )

    @property
    def kind_and_seed(self) -> tuple[str, int]:
        """What kind of encoder, and its seed.

        Raises:
            ValueError: no such encoder.
        """
        if self.encoder == BAG_OF_WORDS:
            return BAG_OF_WORDS, 0
        kind, _, seed = self.encoder.partition("-")
        if kind == TRAINED and not seed:
            return TRAINED, self.seed
        if kind not in (TRAINED, "random") or not seed.isdigit():
            raise ValueError(
                "encoder must be trained, trained-<seed>, random-<seed> or bag_of_words, got "
                f"{self.encoder!r}"
            )
        return kind, int(seed)

    @property
    def model(self) -> TrainEncoders | None:
        """The training it needs; an untrained encoder needs none and runs beside it."""
        kind, seed = self.kind_and_seed
        return self.clone(TrainEncoders, seed=seed) if kind == TRAINED else None

    def requires(self) -> dict[str, Artefact]:
        """Returns the probing tasks, what word vectors take and a trained encoder's model."""
        model = self.model
        needed = {"probing": self.probing, **self.training.word_vectors.requires}
        return needed | ({"model": model} if model else {})

    def content(self) -> dict[str, Any]:
        """Returns what the encoder is and the digests of what it reads."""
        kind, seed = self.kind_and_seed
        return {
            "kind": kind,
            "seed": seed,
            "embedding_version": EMBEDDING_VERSION,
            "vectors": self.training.word_vectors.digest,
            "architecture": self.training.config.architecture() if kind == "random" else None,
            **{name: task.digest for name, task in self.requires().items()},
        }

    def place(self) -> Path:
        """Returns the embeddings' folder."""
        return self.work_folder / "embeddings" / str(self.encoder)

    def encoder_job(self) -> dict[str, Any]:
        """Returns how the embedding job names the encoder."""
        (kind, seed), model = self.kind_and_seed, self.model
        job: dict[str, Any] = {"kind": kind, "vectors": str(self.training.word_vectors.path)}
        if model is not None:
            job["model"] = str(model.folder)
        if kind == "random":
            job |= {"config": self.training.config.to_dict(), "seed": seed}
        return job

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

    row = luigi.Parameter(
        default=PAIR_ROW,
        description="Name of the row: pair, random_weights_0, bag_of_words, … (an unknown name "
        "lists them all). RunAll scores every row.",
    )

    @property
    def declaration(self) -> RowDeclaration:
        """Which embeddings the row joins.

        Raises:
            ValueError: no such row.
        """
        rows = {row.name: row for row in self.rows}
        if self.row not in rows:
            raise ValueError(f"unknown row {self.row!r}; known: {', '.join(rows)}")
        return rows[self.row]

    def requires(self) -> dict[str, Artefact]:
        """Returns the embeddings the row joins, and the tasks' labels."""
        files = self.declaration.embeddings
        needed = {
            name: self.clone(EmbedProbing, encoder=name)
            for name in sorted({file.embedding_set for file in files})
        }
        return {"probing": self.probing, **needed}

    def content(self) -> dict[str, Any]:
        """Returns the row and the digests of what it joins."""
        return {
            "row": asdict(self.declaration),
            "probe": ProbeConfig().to_dict(),
            "probe_version": PROBE_VERSION,
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
            "config": ProbeConfig().to_dict(),
            "threads": 1,
        }
        run_job(self, "models.evaluate_probing", job, self.folder / "job.json", threads=1)


def row_tasks(stage: ProbingStage) -> list[ProbeEncoder]:
    """Returns one task a row of the table, in the table's order."""
    return [stage.clone(ProbeEncoder, row=row.name) for row in stage.rows]
