"""Stages that count a corpus's words, train and download word vectors; which vectors are used."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import luigi

from treeviews.models.config.held_out import HoldOut
from treeviews.models.train_word_vectors import (
    SkipGramConfig,
    WordVectorJob,
    gensim_version,
    imported_gensim,
)
from treeviews.models.words.word_vectors import read_word_size
from treeviews.pipeline.base.atomic_files import LEFT_SECONDS, sweep_unfinished
from treeviews.pipeline.base.digest import digest_of
from treeviews.pipeline.downloads.published_vectors import (
    DOWNLOAD_FILE,
    DOWNLOADS_FOLDER,
    PUBLISHED_VECTORS,
    expected_sha256,
    fetch_vectors,
    vectors_named,
)
from treeviews.pipeline.shards.manifests import read_dataset_manifest, shard_ranges
from treeviews.pipeline.vectors.vector_folder import FACTS_FILE, files_of
from treeviews.pipeline.vectors.word_counts import (
    COUNTING_VERSION,
    REPORT_FILE,
    CountJob,
    VocabularyConfig,
    is_counted,
)
from treeviews.tasks.artefact import Artefact, checksum
from treeviews.tasks.checks import Check
from treeviews.tasks.parameter_kinds import (
    AddressParameter,
    ChoiceParameter,
    Sha256Parameter,
    settings_of,
    takes,
)
from treeviews.tasks.parameters import CorpusParameters, HeldOutParameters, VectorTrainingParameters
from treeviews.tasks.sentences import SplitSentences


@takes(VocabularyConfig)
class CountVocabulary(CorpusParameters, Artefact):
    """Counts the words of a corpus and keeps the most frequent.

    Input: the sentence shards, with tokens unchanged. Output: ``words.parquet`` (words and counts,
    most frequent first) and ``vocabulary.json`` (how much of the text the words cover). With
    another ``max_words`` or ``min_count`` the counts are reused.
    """

    marker = REPORT_FILE
    job_module = "treeviews.pipeline.vectors.word_counts"

    @property
    def config(self) -> VocabularyConfig:
        """Which words are kept."""
        return settings_of(self, VocabularyConfig)

    def requires(self) -> SplitSentences:
        """Returns the sentences."""
        return self.clone(SplitSentences)

    def content(self) -> dict[str, Any]:
        """Returns the settings and the sentences' digest."""
        return {"vocabulary": self.config.to_dict(), **self._counted()}

    def _counted(self) -> dict[str, Any]:
        return {"counting_version": COUNTING_VERSION, "sentences": self.requires().digest}

    def place(self) -> Path:
        """Returns the folder of the vocabulary."""
        return self.work_folder / "vocabularies" / str(self.source)

    @property
    def counts_folder(self) -> Path:
        """The counts of the shards, which every choice of words to keep takes."""
        digest = digest_of({"lower_case": self.lower_case, **self._counted()})
        return self.work_folder / "vocabularies" / "counts" / f"{self.source}-{digest}"

    def fill(self) -> None:
        """Has the shards counted that are not, side by side, then merges the counts."""
        self.write_config()
        sentences, counts = self.requires().folder, self.counts_folder
        shards = read_dataset_manifest(sentences, "sentences").shards
        job = CountJob(sentences=sentences, counts=counts, config=self.config, count=len(shards))
        sweep_unfinished(counts, older_than_seconds=LEFT_SECONDS)
        self.share_jobs(
            counts,
            self.job_module,
            job.to_dict(),
            lambda: shard_ranges(len(shards)),
            lambda number: is_counted(counts, number, shards[number].sha256),
            "counted",
        )
        self.run_job(job.changed(out=self.folder))


OF_THE_CORPUS = Path("corpus")
"""The value of ``vectors`` that asks for those trained on the run's own text."""
VECTORS_VERSION = 1
"""Raised when the same text and settings would train to other vectors."""


class TrainWordVectors(CorpusParameters, HeldOutParameters, VectorTrainingParameters, Artefact):
    """Trains skip-gram word vectors on the corpus (needs ``pip install gensim``).

    Input: the sentence shards without held-out documents, with tokens unchanged. Output: a folder
    for ``--vectors``. Uses one thread, because only then the same text gives the same vectors:
    about 180,000 tokens/s in each pass.
    """

    marker = FACTS_FILE
    job_module = "treeviews.models.train_word_vectors"

    held_out_block_sentences = luigi.IntParameter(
        default=HoldOut().block_sentences,
        description="Sentences per block, with --held-out-unit block.",
    )

    @property
    def config(self) -> SkipGramConfig:
        """The settings with the changes applied."""
        return SkipGramConfig.from_dict(self.vector_changes)

    @property
    def hold_out(self) -> HoldOut:
        """Which sentences are left out."""
        return HoldOut.of(self)

    def checks(self) -> list[Check]:
        """Refuses settings that cannot be, and to train without gensim."""
        checks = super().checks()
        return checks if gensim_version() else [*checks, imported_gensim]

    def requires(self) -> SplitSentences:
        """Returns the sentences."""
        return self.clone(SplitSentences)

    def content(self) -> dict[str, Any]:
        """Returns the settings, what is left out, gensim's release and the sentences' digest."""
        return {
            "vectors": self.config.to_dict(),
            "vectors_version": VECTORS_VERSION,
            "hold_out": self.hold_out.to_dict(),
            "gensim": gensim_version(),
            "sentences": self.requires().digest,
        }

    def place(self) -> Path:
        """Returns the folder of the vectors."""
        return self.work_folder / "vectors" / str(self.source)

    def job(self) -> WordVectorJob:
        """Returns the training on one thread."""
        return WordVectorJob(
            sentences=self.requires().folder,
            hold_out=self.hold_out,
            config=self.config,
            out=self.folder,
        )


class DownloadVectors(Artefact):
    """Downloads published word vectors by name: GloVe, fastText or word2vec.

    Output: the archive as published and a record of its verification; ``treeviews vectors import``
    converts it to a folder. An interrupted download resumes.
    """

    marker = DOWNLOAD_FILE

    name = ChoiceParameter(
        choices=[one.name for one in PUBLISHED_VECTORS],
        description="Name of the vectors.",
    )
    sha256 = Sha256Parameter(
        default="", description="sha256 of the file, if none is declared or the file has changed."
    )
    mirror = AddressParameter(
        default="",
        significant=False,
        description="Address of a mirror that has the archive by its file name.",
    )
    accept_unverified = luigi.BoolParameter(
        significant=False, description="Accept a file without a published sha256."
    )

    @property
    def expected(self) -> str | None:
        """The sha256 that the file must have; None where any is taken.

        Raises:
            ValueError: none is known, and what comes is not to be taken unverified.
        """
        declared = vectors_named(self.name)
        return expected_sha256(declared, self.sha256, accept_unverified=self.accept_unverified)

    def checks(self) -> list[Check]:
        """Refuses what could not be believed before the work begins."""
        return [*super().checks(), lambda: self.expected]

    def content(self) -> dict[str, Any]:
        """Returns what is downloaded and what sha256 it must have."""
        declared = vectors_named(self.name)
        return {"url": declared.url, "sha256": self.sha256 or declared.sha256}

    def place(self) -> Path:
        """Returns the folder of the download."""
        return self.work_folder / DOWNLOADS_FOLDER / str(self.name)

    def fill(self) -> None:
        """Downloads the archive."""
        self.write_config()
        fetch_vectors(
            vectors_named(self.name),
            self.folder,
            self.expected,
            mirror=self.mirror,
            on_progress=self.report_progress,
        )


@dataclass(frozen=True, slots=True)
class UsedVectors:
    """The word vectors that a stage uses."""

    path: Path
    digest: str
    """Of what determines them."""
    training: TrainWordVectors | None = None
    """What must run before they are there."""

    @property
    def requires(self) -> dict[str, Artefact]:
        """What a stage that uses them requires, by name; nothing where they are given."""
        return {} if self.training is None else {"vectors": self.training}

    @property
    def size(self) -> int:
        """Dimension of a vector, also of those that are not yet there.

        Raises:
            ValueError: broken word vectors.
        """
        return read_word_size(self.path) if self.training is None else self.training.config.size


def used_vectors(stage: luigi.Task, hold_out: HoldOut) -> UsedVectors:
    """Returns the word vectors that a stage's parameters ask for.

    Args:
        stage: its parameters are those of `TrainingParameters`, `CorpusParameters` and
            `HeldOutParameters`.
        hold_out: of the training that they are for.

    Raises:
        FileNotFoundError: the vectors given are not there.
        ValueError: settings of vectors that are not trained.
    """
    if stage.vectors != OF_THE_CORPUS:
        if stage.vector_changes:
            raise ValueError(
                f"vector_changes has no effect on {stage.vectors}: give --vectors {OF_THE_CORPUS}, "
                "too"
            )
        return UsedVectors(stage.vectors, checksum(stage.vectors, names=files_of(stage.vectors)))
    training: TrainWordVectors = stage.clone(
        TrainWordVectors, held_out_block_sentences=hold_out.block_sentences
    )
    return UsedVectors(training.folder, training.digest, training)
