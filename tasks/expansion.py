"""The stage that expands the vocabulary of a trained model."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from treeviews.models.expand_vocabulary import ExpansionJob
from treeviews.models.model.model_description import MODEL_FILE
from treeviews.models.words.vocabulary_expansion import EXPANSION_VERSION, ExpansionConfig
from treeviews.pipeline.vectors.vector_folder import files_of
from treeviews.tasks.artefact import Artefact, checksum, run_job
from treeviews.tasks.parameters import (
    CorpusParameters,
    ExpansionParameters,
    HeldOutParameters,
    ParserParameters,
    TrainingParameters,
)
from treeviews.tasks.training import TrainEncoders


class ExpandVocabulary(
    CorpusParameters,
    HeldOutParameters,
    ParserParameters,
    TrainingParameters,
    ExpansionParameters,
    Artefact,
):
    """Gives the model of the run, with trained words, those of its word vectors, too.

    Input: the training with word_vectors "trained", whatever the changes say of these. Output: a
    model folder, whose card says what the expansion is worth.
    """

    marker = MODEL_FILE

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

    def fill(self) -> None:
        """Runs the job."""
        self.write_config()
        job = ExpansionJob(
            model=self.training.folder,
            out=self.folder,
            config=self.config,
            pretrained=self.expansion_vectors,
        )
        path = self.folder / "job.json"
        run_job(self, "treeviews.models.expand_vocabulary", job.to_dict(), path, threads=1)


def with_words(training: TrainEncoders, use: Literal["frozen", "trained"]) -> TrainEncoders:
    """Returns the same training with word vectors that are given, or trained; itself if they are.

    Another task of the same folder would be planned beside it, and wait for it.
    """
    if training.config.word_vectors == use:
        return training
    changes = {**dict(training.changes), "word_vectors": use}
    changed: TrainEncoders = training.clone(changes=changes)
    return changed
