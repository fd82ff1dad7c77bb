"""The stages that train views, and that expand the vocabulary of a trained model."""

from __future__ import annotations

import logging
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import luigi

from treeviews.models.config.held_out import HELD_OUT_REMEDY
from treeviews.models.config.training_config import TRAINING_VERSION, TrainingConfig
from treeviews.models.config.training_presets import preset
from treeviews.models.config.views import needed_stages
from treeviews.models.corpus.parsed_corpus import CorpusFolders
from treeviews.models.expand_vocabulary import ExpansionJob
from treeviews.models.model.model_description import MODEL_FILE
from treeviews.models.training.launching import LaunchSettings
from treeviews.models.training.training_job import RunSettings, TrainingJob, finished_summary
from treeviews.models.words.vocabulary_expansion import EXPANSION_VERSION, ExpansionConfig
from treeviews.pipeline.base.machine import available_cores
from treeviews.pipeline.parsing.parse_shard import library_versions
from treeviews.pipeline.vectors.vector_folder import files_of
from treeviews.tasks.artefact import Artefact, checksum
from treeviews.tasks.checks import Check, check_device
from treeviews.tasks.parameter_kinds import fields_of, settings_of
from treeviews.tasks.parameters import ExpansionParameters, ModelParameters
from treeviews.tasks.parsing import PARSE_STAGES, ParseStage
from treeviews.tasks.sentences import SplitSentences
from treeviews.tasks.words import UsedVectors, used_vectors

logger = logging.getLogger("luigi-interface")

FEW_STEPS = 20
"""Below so many a training ends with a warning."""


class TrainEncoders(ModelParameters, Artefact):
    """Trains the views of a preset with its objective.

    Output: a model folder. Requires only the parses that the views read.
    """

    marker = "summary.json"
    job_module = "treeviews.models.train"
    priority = 10
    """Luigi's: most of a run waits for its trainings, so they come before any evaluation."""

    @property
    def _named_views(self) -> tuple[str, ...]:
        """The views that are asked for; none takes the preset's."""
        return tuple(view.strip() for view in self.views.split(",")) if self.views else ()

    @cached_property
    def config(self) -> TrainingConfig:
        """The preset with the changes applied."""
        views = self._named_views or preset(self.preset).views
        return preset(self.preset, **fields_of(self, TrainingConfig, self.changes, views=views))

    @cached_property
    def word_vectors(self) -> UsedVectors:
        """The word vectors, given or trained on the corpus."""
        return used_vectors(self, self.config.hold_out)

    def checks(self) -> list[Check]:
        """Refuses a training that cannot be, on this machine or on this text."""
        return [
            *super().checks(),
            lambda: self.config.check_trainable(),  # noqa: PLW0108 - config may refuse, too
            self._check_text,
            lambda: self.word_vectors,
            self._check_idle,
            self.launch,
            self.settings,
            lambda: check_device(self.device),
        ]

    def checked(self) -> list[luigi.Task]:
        """Returns the stages of the corpus; of a training that cannot be, the sentences alone."""
        try:
            return [*self.corpus_stages().values(), *self.word_vectors.requires.values()]
        except (OSError, ValueError):  # told by the checks
            return [self.clone(SplitSentences)]

    def _check_idle(self) -> None:
        """Warns of changes that change nothing.

        Raises:
            UserWarning: names them.
        """
        if idle := self.config.idle(self.changes):
            has = "has" if len(idle) == 1 else "have"
            raise UserWarning(
                f"--changes: {', '.join(idle)} {has} no effect under the {self.config.objective} "
                f"objective of {','.join(self.config.views)}"
            )

    def _check_text(self) -> None:
        """Refuses a text of which no batch can be made.

        Raises:
            ValueError: all of it is held out, or it has one sentence.
        """
        hold_out = self.config.hold_out
        if hold_out.fraction == 1 or self.clone(SplitSentences).most_sentences() < 2:
            raise ValueError(
                "none of the text is left to train on beside held_out_fraction "
                f"{hold_out.fraction:g}; {HELD_OUT_REMEDY}"
            )

    def requires(self) -> dict[str, Artefact]:
        """Returns the stages of the corpus and, where they are trained, the word vectors.

        Raises:
            ValueError: the views cannot be trained.
        """
        self.config.check_trainable()
        return self.corpus_stages() | self.word_vectors.requires

    def corpus_stages(self) -> dict[str, Artefact]:
        """Returns the sentences, and the parses that the views read."""
        parses = {name: self.clone(PARSE_STAGES[name]) for name in needed_stages(self.config.views)}
        return {"sentences": self.clone(SplitSentences), **parses}

    def is_whole(self) -> bool:
        """Returns whether every file stands that the summary lists."""
        return finished_summary(self.folder) is not None

    def summary(self) -> dict[str, Any]:
        """Returns what the finished training says of itself."""
        return finished_summary(self.folder) or {}

    def content(self) -> dict[str, Any]:
        """Returns the training's configuration and the digests of what it reads.

        Parses know the release of torch already; where none are read it stands here.
        """
        parsed = needed_stages(self.config.views)
        return {
            "training": self.config.to_dict(),
            "training_version": TRAINING_VERSION,
            "vectors": self.word_vectors.digest,
            **{name: task.digest for name, task in self.corpus_stages().items()},
            **({} if parsed else {"libraries": library_versions(("torch",))}),
        }

    def place(self) -> Path:
        """Returns the model's folder."""
        config = self.config
        kind = [] if config.objective == "contrastive" else [config.objective]
        return self.work_folder / "models" / "-".join([*config.views, *kind])

    def launch(self) -> LaunchSettings:
        """Returns how many processes and threads the job takes.

        Raises:
            ValueError: a number of them that cannot be.
        """
        if self.threads < 0:
            raise ValueError(f"threads must be 0 or more, not {self.threads}")
        threads = self.threads or max(1, available_cores() // 2)
        return settings_of(self, LaunchSettings, threads=threads)

    def settings(self) -> RunSettings:
        """Returns the other machine settings of the job.

        Raises:
            ValueError: a number that cannot be.
        """
        return settings_of(self, RunSettings, device=self.device)

    def fill(self) -> None:
        """Runs the training, which resumes at its last checkpoint."""
        launch = self.launch()
        settings = self.settings()
        self.write_config()
        stages = self.corpus_stages()
        job = TrainingJob(
            config=self.config,
            corpus=CorpusFolders(**{name: task.folder for name, task in stages.items()}),
            vectors=self.word_vectors.path,
            out=self.folder,
            parsers={
                k: task.parser_folder for k, task in stages.items() if isinstance(task, ParseStage)
            },
            settings=settings,
            launch=launch,
        )
        self.run_job(job, threads=launch.threads or 1)
        if (summary := self.summary()).get("steps", FEW_STEPS) < FEW_STEPS:
            logger.warning(
                "%s: only %d steps, which train next to nothing; give more text, more epochs or a "
                "smaller batch_size than %d",
                self.folder,
                summary["steps"],
                self.config.batch_size,
            )


class ExpandVocabulary(ModelParameters, ExpansionParameters, Artefact):
    """Adds words of pretrained vectors to a model with trained words.

    Input: a training with word_vectors "trained", whatever --changes says. Output: a model folder,
    whose card has the measured quality of the new words.
    """

    marker = MODEL_FILE
    job_module = "treeviews.models.expand_vocabulary"

    @property
    def training(self) -> TrainEncoders:
        """The training that is expanded."""
        return with_words(self.clone(TrainEncoders), "trained")

    @property
    def config(self) -> ExpansionConfig:
        """The settings with the changes applied."""
        return ExpansionConfig.from_dict(dict(self.expansion_changes))

    def requires(self) -> TrainEncoders:
        """Returns the training.

        Raises:
            ValueError: see `TrainEncoders.requires`.
        """
        return self.training

    def content(self) -> dict[str, Any]:
        """Returns the settings and the digests of the training and of the further vectors."""
        return {
            "expansion": self.config.to_dict(),
            "expansion_version": EXPANSION_VERSION,
            "model": self.training.digest,
            "pretrained": None
            if self.expansion_vectors is None
            else checksum(self.expansion_vectors, names=files_of(self.expansion_vectors)),
        }

    def place(self) -> Path:
        """Returns the model's folder, beside that of the training."""
        name = self.training.place().name
        return self.work_folder / "models" / f"{name}-expanded"

    def job(self) -> ExpansionJob:
        """Returns the expansion."""
        return ExpansionJob(
            model=self.training.folder,
            out=self.folder,
            config=self.config,
            pretrained=self.expansion_vectors,
        )


def with_words(training: TrainEncoders, use: Literal["frozen", "trained"]) -> TrainEncoders:
    """Returns the same training with word vectors that are given, or trained; itself if they are.

    Another task of the same folder would be planned beside it, and wait for it.
    """
    if training.config.word_vectors == use:
        return training
    changes = {**dict(training.changes), "word_vectors": use}
    return training.clone(changes=changes)
