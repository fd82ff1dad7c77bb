"""The sentences of a source, split in this process."""

from __future__ import annotations

from pathlib import Path

from treeviews.pipeline.shards.manifests import DatasetManifest
from treeviews.pipeline.text.cleaning_steps import CleaningConfig
from treeviews.pipeline.text.documents import Source
from treeviews.pipeline.text.split_corpus import CorpusSplit
from treeviews.pipeline.text.split_parts import PartSplitter
from treeviews.pipeline.text.tokenization import SentenceConfig


def split_sentences(
    source: Source, config: SentenceConfig, folder: Path, cleaning: CleaningConfig | None = None
) -> DatasetManifest:
    """Writes the shards that are missing; returns the manifest."""
    corpus = CorpusSplit(source, config, folder, cleaning)
    corpus.begin()
    while runs := corpus.runs():
        splitter = PartSplitter(corpus.plan_path, folder, source)  # of the plan as it is now
        for first, count in runs:
            for number in range(first, first + count):
                splitter.split(number)
    return corpus.finish()
