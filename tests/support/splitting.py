"""The sentences of a source, split in this process."""

from __future__ import annotations

from pathlib import Path

from treeviews.pipeline.shards.manifests import DatasetManifest
from treeviews.pipeline.text.documents import Source
from treeviews.pipeline.text.split_corpus import CorpusSplit
from treeviews.pipeline.text.tokenization import SentenceConfig


def split_sentences(source: Source, config: SentenceConfig, folder: Path) -> DatasetManifest:
    """Writes the shards that are missing; returns the manifest."""
    corpus = CorpusSplit(source, config, folder)
    corpus.begin()
    return corpus.split_all()
