"""The stage that counts a corpus's words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import luigi

from pipeline.base.atomic_files import RUN_LOCK, sweep_unfinished
from pipeline.base.digest import digest_of
from pipeline.shards.manifests import read_dataset_manifest, read_shard_manifest, shard_ranges
from pipeline.vocabulary.count_shard import COUNTING_VERSION, CountJob, is_counted
from pipeline.vocabulary.merge_counts import REPORT_FILE, MergeJob, VocabularyConfig
from tasks.artefact import Artefact, run_job
from tasks.parameters import CorpusParameters
from tasks.sentences import SplitSentences
from tasks.shard_jobs import ShardJob, handed_out


class CountShard(ShardJob):
    """Counts the words of sentence shards; a kill costs the one in hand.

    Output: a Parquet file of each shard's distinct words and their counts.
    """

    job_module = "pipeline.vocabulary.count_shard"

    sentences = luigi.PathParameter(description="Folder of the sentence shards.")
    lower_case = luigi.BoolParameter(description="Whether words lose their case.")

    def is_made(self, number: int) -> bool:
        """Returns whether a shard's counts are there, of its sentences as they are."""
        source = read_shard_manifest(self.sentences, number)
        return source is not None and is_counted(self.destination, number, source.sha256)

    def job(self) -> dict[str, Any]:
        """Returns what to count, where the counts go, and how."""
        return CountJob(
            sentences=self.sentences,
            number=self.number,
            counts=self.destination,
            lower_case=self.lower_case,
        ).to_dict()


class CountVocabulary(CorpusParameters, Artefact):
    """Counts the words of a corpus, shard by shard side by side, and keeps the most frequent.

    Input: the sentence shards, whose tokens are taken as they are. Output: ``words.parquet`` (word
    and count, most frequent first) and ``vocabulary.json``, which says how much of the text so many
    words cover. Another ``max_words`` or ``min_count`` takes the counts that are there.
    """

    marker = REPORT_FILE

    lower_case = luigi.BoolParameter(description="Whether words lose their case.")
    max_words = luigi.IntParameter(
        default=VocabularyConfig().max_words,
        description="The most frequent words are kept; 0: all, in memory that grows with them.",
    )
    min_count = luigi.IntParameter(
        default=VocabularyConfig().min_count, description="Rarer words are not kept."
    )

    @property
    def config(self) -> VocabularyConfig:
        """Which words are kept."""
        return VocabularyConfig(
            lower_case=self.lower_case, max_words=self.max_words, min_count=self.min_count
        )

    def requires(self) -> SplitSentences:
        """Returns the sentences."""
        sentences: SplitSentences = self.clone(SplitSentences)
        return sentences

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

    def run(self) -> Iterator[list[CountShard]]:
        """Has the shards counted that are not, then merges the counts."""
        sentences = self.requires().folder
        num_shards = len(read_dataset_manifest(sentences, "sentences").shards)
        jobs = [
            CountShard(
                sentences=sentences,
                destination=self.counts_folder,
                number=number,
                count=count,
                lower_case=self.lower_case,
            )
            for number, count in shard_ranges(num_shards)
        ]
        with self.handing_out(self.counts_folder) as alone:
            if alone:
                sweep_unfinished(self.counts_folder)
            jobs = handed_out(jobs, alone=alone)
        yield jobs
        with self.held(self.counts_folder / RUN_LOCK, shared=True):
            super().run()

    def fill(self) -> None:
        """Merges the counts."""
        self.write_config()
        shards = read_dataset_manifest(self.requires().folder, "sentences").shards
        job = MergeJob(
            counts=self.counts_folder, num_shards=len(shards), config=self.config, out=self.folder
        )
        path = self.folder / "job.json"
        run_job(self, "pipeline.vocabulary.merge_counts", job.to_dict(), path, threads=1)
