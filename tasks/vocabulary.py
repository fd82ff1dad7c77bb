"""The stage that counts a corpus's words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from treeviews.pipeline.base.atomic_files import RUN_LOCK, sweep_unfinished
from treeviews.pipeline.base.digest import digest_of
from treeviews.pipeline.shards.manifests import ShardManifest, read_dataset_manifest, shard_ranges
from treeviews.pipeline.vectors.word_counts import (
    COUNTING_VERSION,
    REPORT_FILE,
    CountJob,
    VocabularyConfig,
    is_counted,
)
from treeviews.tasks.artefact import Artefact, Jobs, run_job
from treeviews.tasks.parameter_kinds import settings_of, takes
from treeviews.tasks.parameters import CorpusParameters
from treeviews.tasks.sentences import SplitSentences


@takes(VocabularyConfig)
class CountVocabulary(CorpusParameters, Artefact):
    """Counts the words of a corpus, shard by shard side by side, and keeps the most frequent.

    Input: the sentence shards, whose tokens are taken as they are. Output: ``words.parquet`` (word
    and count, most frequent first) and ``vocabulary.json``, which says how much of the text so many
    words cover. Another ``max_words`` or ``min_count`` takes the counts that are there.
    """

    marker = REPORT_FILE

    @property
    def config(self) -> VocabularyConfig:
        """Which words are kept."""
        return settings_of(self, VocabularyConfig)

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

    def run(self) -> None:
        """Has the shards counted that are not, beside other runs that are at it, then merges."""
        shards = self._shards
        self.share_jobs(
            self.counts_folder,
            "treeviews.pipeline.vectors.word_counts",
            partial(self._jobs_left, shards),
            lambda number: self._is_counted(shards[number]),
            lambda count: f"{count} jobs counted",
        )
        with self.held(self.counts_folder / RUN_LOCK, shared=True):
            super().run()

    @property
    def _shards(self) -> Sequence[ShardManifest]:
        return read_dataset_manifest(self.requires().folder, "sentences").shards

    def _jobs_left(self, shards: Sequence[ShardManifest], alone: bool) -> Jobs:
        if alone:
            sweep_unfinished(self.counts_folder)
        return {
            self.counts_folder / "jobs" / f"{first:05d}.json": CountJob(
                sentences=self.requires().folder,
                counts=self.counts_folder,
                config=self.config,
                number=first,
                count=count,
            ).to_dict()
            for first, count in shard_ranges(len(shards))
            if not all(map(self._is_counted, shards[first : first + count]))
        }

    def fill(self) -> None:
        """Merges the counts."""
        self.write_config()
        job = CountJob(
            sentences=self.requires().folder,
            counts=self.counts_folder,
            config=self.config,
            count=len(self._shards),
            out=self.folder,
        )
        path = self.folder / "job.json"
        run_job(self, "treeviews.pipeline.vectors.word_counts", job.to_dict(), path, threads=1)

    def _is_counted(self, shard: ShardManifest) -> bool:
        return is_counted(self.counts_folder, shard.number, shard.sha256)
